import { Fault, isFault, toFault } from "#protocol/faults/fault.ts";
import type { FaultCode } from "#protocol/faults/fault-table.ts";
import { removeOwned } from "../base/disk/change-disk.ts";
import { newAttempt } from "../capture/snapshot.ts";
import { isFatal } from "../hub-link/stream.ts";
import { journalOf, sendCapture } from "../upload/upload.ts";
import { waitOf, type ActiveCopy, type CopierParts, type CopyState } from "./copier-parts.ts";
import type { CopyItem } from "./copy-ledger.ts";
import { endCopy } from "./report-copy.ts";

/** How often an attempt checks whether the node has something of its own to move. */
export const LOOK_MS = 250;
const AFTER_FAILURE_MS = 15_000;
const MOST_RENEWALS = 2;
/** Faults that show that the store does not have what was sent: it is sent again under fresh keys. */
const LOST: ReadonlySet<FaultCode> = new Set([
  "NO_SUCH_KEY",
  "SIZE_MISMATCH",
  "OBJECT_CHANGED",
  "ALREADY_EXISTS",
  "NOT_FOUND",
]);

/** Parts and state that the attempts and the queue of one copier share. */
export interface Copying {
  parts: CopierParts;
  state: CopyState;
}

/** Sends one copy until it is complete, fails, or yields to the node's own transfers. Faults: those that end this node. */
export async function attemptCopy(copying: Copying, item: CopyItem): Promise<void> {
  const { parts, state } = copying;
  const { homes, clock, signal } = parts;
  const { capture } = item;
  const home = capture.home ?? "";
  const store = homes.storeOf(capture.run, home);
  if (store === null) {
    const fault = new Fault("CONFLICT", { op: "copy" }).toData();
    return endCopy(copying, item, { state: "cancelled", fault, active: null });
  }
  const { engine } = parts.storeSession(store);
  const stop = new AbortController();
  const yielding = new AbortController();
  const watch = homes.watch(capture, engine);
  const { promise: ended, resolve: sayEnded } = Promise.withResolvers<void>();
  const active: ActiveCopy = { item, counters: null, engine, startedAt: clock.now(), stop, ended };
  state.active = active;
  const look = setInterval(() => {
    if (parts.isBusy() || parts.isHeld(capture.run)) yielding.abort(new Fault("CANCELLED"));
  }, LOOK_MS);
  const until = AbortSignal.any([stop.signal, yielding.signal, signal, ...(watch === null ? [] : [watch.signal])]);
  try {
    await sendCopy(copying, active, { store, watch, until });
  } catch (error) {
    if (signal.aborted || stop.signal.aborted) return;
    const { counters } = active;
    if (counters !== null) {
      const sentBytes = capture.sentBytes + counters.sentBytes;
      await parts.ledger.count(item, { sentBytes, retries: capture.retries + counters.retries });
    }
    if (yielding.signal.aborted) return;
    const away = watch?.away() ?? null;
    if (away !== null) await homes.elsewhere(capture.run, home, away);
    await afterFailure(copying, item, away ?? toFault(error, { op: "copy", subject: capture.run }));
  } finally {
    clearInterval(look);
    watch?.end();
    state.active = null;
    sayEnded();
  }
}

/** Asks the hub whether the copy is still wanted, sends its files and commits it. */
async function sendCopy(
  copying: Copying,
  active: ActiveCopy,
  about: {
    store: Parameters<CopierParts["storeSession"]>[0];
    watch: ReturnType<CopierParts["homes"]["watch"]>;
    until: AbortSignal;
  },
): Promise<void> {
  const { parts } = copying;
  const { hub } = parts;
  const { item, engine } = active;
  const { capture } = item;
  const home = capture.home ?? "";
  const request = { checkpointId: capture.id, profileId: home, attempt: capture.attempt };
  const { isWanted } = await hub.ask("beginCopy", (client, limit) =>
    client.node.beginCopy.mutate(request, { signal: limit }),
  );
  if (!isWanted) return endCopy(copying, item, { state: "superseded", fault: null, active: null });
  const manifest = await sendCapture(engine, {
    capture,
    claim: { ...item.claim, newest: null },
    node: parts.node(),
    store: about.store,
    hub,
    journals: parts.journals,
    signal: about.until,
    isCopy: true,
    onStart: (counters) => {
      active.counters = counters;
      about.watch?.follow(counters);
    },
  });
  await hub.ask("commitCopy", (client, limit) => client.node.commitCopy.mutate({ manifest }, { signal: limit }));
  parts.homes.noteBack(home);
  await endCopy(copying, item, { state: "done", fault: null, active });
  parts.onEnd?.(item, "done");
}

/** Ends a copy that cannot succeed. Lets any other wait, under fresh keys when the store lost what was sent. */
async function afterFailure(copying: Copying, item: CopyItem, fault: Fault): Promise<void> {
  if (isFatal(fault)) throw fault;
  const { parts, state } = copying;
  const wait = waitOf(state, item);
  const isLost = isFault(fault) && LOST.has(fault.code) && wait.renewals < MOST_RENEWALS;
  if (!isLost && fault.retry === "never" && fault.code !== "CLOCK_SKEW") {
    await endCopy(copying, item, { state: "failed", fault: fault.toData(), active: null });
    parts.onEnd?.(item, "failed");
    return;
  }
  if (isLost) {
    await removeOwned("journal", journalOf(parts.journals, item.capture));
    await parts.ledger.setAttempt(item, newAttempt());
  }
  const renewals = wait.renewals + Number(isLost);
  const until = parts.clock.now() + AFTER_FAILURE_MS;
  state.waits.set(item.capture.transferId, { until, renewals, fault: fault.toData() });
}
