import { setImmediate } from "node:timers/promises";
import { Fault, isFault } from "#protocol/faults/fault.ts";
import { isEnded } from "#protocol/wire/transfer.ts";
import type { LiveMessage } from "#protocol/wire/views.ts";
import { isTokenGood } from "#server/core/accounts/api-tokens/read-token.ts";
import { readSession } from "#server/core/accounts/auth/session.ts";
import type { Hub } from "#server/core/api/hub.ts";
import type { Context } from "#server/core/api/trpc.ts";
import type { LiveNode, ShownRow } from "#server/core/live/live-node.ts";
import { changesOf, shownRowOf } from "#server/core/live/shown-row.ts";
import { trpcError } from "#server/core/api/trpc-error.ts";
import type { PersonCaller } from "#server/core/api/caller.ts";

/**
 * Serves the one stream of a browser: the whole fleet first, then changes, at most once a second each. On shutdown it ends with
 * an error, because clients reconnect only after an error.
 */

const PACE_MS = 1_000;
/**
 * In a large fleet hundreds of nodes change in a second. A page that gets all of them at once is busy for several frames, so
 * they come in a few messages, evenly over the second.
 */
const NODES_AT_ONCE = 150;
const MOST_MESSAGES = 6;
/** Nodes in each message of the whole fleet; other calls are answered between two messages. */
const NODES_OF_THE_WHOLE = 500;
/** Interval of keep-alive messages: a page counts as stale when it has heard nothing for some seconds. */
const HEARTBEAT_MS = 4_000;
const SESSION_CHECK_MS = 10_000;
const EVENTS_TOLD = 50;

async function* whole(hub: Hub): AsyncGenerator<LiveMessage> {
  const { live } = hub;
  const now = hub.now();
  yield { type: "fleet", fleet: await live.fleet(now) };
  const nodes = [...live.nodes.values()];
  const rowsOf = (some: readonly LiveNode[]) => some.map((node) => shownRowOf(live, node, now).row);
  yield { type: "nodes", nodes: rowsOf(nodes.slice(0, NODES_OF_THE_WHOLE)) };
  for (let from = NODES_OF_THE_WHOLE; from < nodes.length; from += NODES_OF_THE_WHOLE) {
    await setImmediate();
    yield { type: "node-changes", joined: rowsOf(nodes.slice(from, from + NODES_OF_THE_WHOLE)), changed: [] };
  }
  const moving = [...live.transfers.values()].filter(({ row }) => !isEnded(row.state));
  yield { type: "transfers", whole: true, transfers: moving.map(({ row }) => row) };
  // A page that reconnects also gets the events that it missed.
  yield { type: "events", events: live.events.slice(-EVENTS_TOLD) };
}

/** Yields everything newer than revision `seen` except nodes, and the events after `lastEvent`. */
async function* changes(hub: Hub, seen: number, lastEvent: number): AsyncGenerator<LiveMessage> {
  const { live } = hub;
  yield { type: "fleet", fleet: await live.fleet(hub.now()) };
  const transfers = [...live.transfers.values()].filter(({ revision }) => revision > seen);
  if (transfers.length > 0) yield { type: "transfers", whole: false, transfers: transfers.map(({ row }) => row) };
  const events = live.events.filter(({ id }) => id > lastEvent);
  if (events.length > 0) yield { type: "events", events };
  const topics = [...live.staleAt].filter(([, revision]) => revision > seen).map(([topic]) => topic);
  if (topics.length > 0) yield { type: "stale", topics };
}

/** Returns messages with the nodes newer than revision `seen`, as functions: each contains the state at the time it is sent. */
function changedNodes({ live, now }: Hub, seen: number): (() => LiveMessage)[] {
  const nodes = [...live.nodes.values()].filter((node) => node.revision > seen);
  const each = Math.max(NODES_AT_ONCE, Math.ceil(nodes.length / MOST_MESSAGES));
  return Array.from({ length: Math.ceil(nodes.length / each) }, (_, at) => () => {
    const shown = nodes.slice(at * each, (at + 1) * each).map((node) => shownRowOf(live, node, now()));
    const isNew = ({ since }: ShownRow): boolean => (since.get("id") ?? 0) > seen;
    return {
      type: "node-changes",
      joined: shown.filter(isNew).map(({ row }) => row),
      changed: shown.filter((one) => !isNew(one)).map((one) => changesOf(one, seen)),
    };
  });
}

/** Throws when the session or the API token of a stream is over, which ends the stream. */
async function checkCaller(hub: Hub, caller: PersonCaller): Promise<void> {
  const isGood =
    caller.kind === "person"
      ? (await readSession(hub, caller.sessionHash)) !== null
      : await isTokenGood(hub, caller.tokenId);
  if (!isGood) throw trpcError(new Fault(caller.kind === "person" ? "NOT_SIGNED_IN" : "API_TOKEN_REFUSED"));
}

/** Registers a stream; returns the function that removes it. @throws TOO_MANY_TRIES (as a tRPC error) */
function enter({ live, now }: Hub, caller: PersonCaller): () => void {
  try {
    return live.enter(now, caller.kind === "person" ? caller.sessionHash : caller.tokenId);
  } catch (error) {
    throw isFault(error) ? trpcError(error) : error;
  }
}

/**
 * Streams live data to a browser.
 * @throws TOO_MANY_TRIES, SHUTTING_DOWN when the hub ends, NOT_SIGNED_IN when the session does (as tRPC errors: they end the
 * stream)
 */
export async function* watch(
  { hub, caller }: Context & { caller: PersonCaller },
  signal: AbortSignal,
): AsyncGenerator<LiveMessage> {
  const { live } = hub;
  const leave = enter(hub, caller);
  const abort = AbortSignal.any([signal, hub.closing]);
  try {
    let seen = live.revision;
    let lastEvent = live.events.at(-1)?.id ?? 0;
    yield* whole(hub);
    let checkedAt = hub.now();
    // No count equals -1, so the first round checks whether the session ended before the stream began.
    let sessionEnds = -1;
    while (!abort.aborted) {
      const isFresh = live.revision > seen;
      let restMs = PACE_MS;
      if (isFresh) {
        const [from, fromEvent, endsBefore] = [seen, lastEvent, live.sessionEnds];
        seen = live.revision;
        lastEvent = live.events.at(-1)?.id ?? 0;
        const messages = changedNodes(hub, from);
        const eachMs = PACE_MS / Math.max(1, messages.length);
        yield* changes(hub, from, fromEvent);
        for (const [at, message] of messages.entries()) {
          if (at > 0) await live.sessionsChanged.wait({ timeoutMs: eachMs, abort });
          if (abort.aborted) break;
          if (live.sessionEnds !== endsBefore) {
            // The ended session may be that of this stream, so the remaining changes wait for the check below.
            seen = from;
            break;
          }
          yield message();
        }
        restMs = eachMs;
      }
      // Between two rounds only the end of a session wakes the stream, then the next change or the keep-alive interval. A
      // session that ended while the stream was busy sent its signal unheard, so the check follows without a wait.
      if (live.sessionEnds !== sessionEnds) {
        // No wait: the session is checked at the end of this round.
      } else if (isFresh) await live.sessionsChanged.wait({ timeoutMs: restMs, abort });
      else {
        await live.changed.wait({ timeoutMs: HEARTBEAT_MS, abort });
        if (!abort.aborted && live.revision === seen) yield { type: "beat", at: hub.now() };
      }
      if (hub.now() - checkedAt < SESSION_CHECK_MS && live.sessionEnds === sessionEnds) continue;
      checkedAt = hub.now();
      sessionEnds = live.sessionEnds;
      await checkCaller(hub, caller);
    }
  } finally {
    leave();
  }
  if (hub.closing.aborted) throw trpcError(new Fault("SHUTTING_DOWN"));
}
