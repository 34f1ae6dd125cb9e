import { isExpected } from "#protocol/fleet/node-status.ts";
import type { Advice, AdviceAnswer, Dismissal, Finding } from "#protocol/alerts/advice.ts";
import { ADVICE_KINDS } from "#protocol/alerts/advice-kinds.ts";
import type { Hub } from "#server/core/api/hub.ts";
import type { LiveNode } from "#server/core/live/live-node.ts";
import { nodeRowOf } from "#server/core/live/node-row.ts";
import { mapInSlices } from "#server/platform/pauses.ts";
import type { Advised } from "#server/core/api/ports/history-questions.ts";
import { findIntervals, type WrittenRun } from "./find-intervals.ts";

/** Days of history behind advice: long enough for a past to compare with, short enough to describe the present fleet. */
const DAYS = 30;
const DAY_MS = 86_400_000;
/** An answer is cached for this many times its own duration, so advice takes at most a thirtieth of the history thread. */
const STANDS_TIMES = 30;
const LEAST_STANDS_MS = 5_000;
/** Most pieces of advice in an answer; nobody reads more of them. */
const MOST_ADVICE = 1_000;

interface Kept {
  until: number;
  advised: Promise<Advised>;
}
const kept = new WeakMap<Hub, Kept>();

/** Returns the advice for all nodes from the cache; concurrent callers share one question to the history thread. */
function adviseAll(hub: Hub): Promise<Advised> {
  const known = kept.get(hub);
  if (known !== undefined && hub.now() < known.until) return known.advised;
  const startedAt = hub.now();
  const advised = ask(hub, null);
  const entry: Kept = { until: Infinity, advised };
  kept.set(hub, entry);
  advised.then(
    () => {
      const now = hub.now();
      entry.until = now + Math.max(LEAST_STANDS_MS, (now - startedAt) * STANDS_TIMES);
    },
    () => kept.delete(hub),
  );
  return advised;
}

const ask = (hub: Hub, node: number | null): Promise<Advised> =>
  hub.history.reader.ask({ op: "advise", from: hub.now() - DAYS * DAY_MS, now: hub.now(), node });

const NOTHING: Advised = {
  findings: [],
  up: { rates: [], nodes: 0, samples: 0, ofBenchmarks: 0, least: 0 },
  down: { rates: [], nodes: 0, samples: 0, ofBenchmarks: 0, least: 0 },
  rows: 0,
  benchRows: 0,
  oneIn: 1,
};

/**
 * Returns the advice for one node, or for all of them when `nodeId` is null.
 * @throws Fault INTERNAL when history could not be read
 */
export async function listAdvice(hub: Hub, { nodeId }: { nodeId: string | null }): Promise<AdviceAnswer> {
  const { places } = hub.history;
  await places.refresh();
  const number = nodeId === null ? null : places.numberOf(nodeId);
  const advised = nodeId === null ? await adviseAll(hub) : number === null ? NOTHING : await ask(hub, number);
  await places.refresh();
  const stored = advised.findings.flatMap((finding): Finding<string>[] => {
    const node = finding.node === null ? null : places.nodeIdOf(finding.node);
    // Nobody can act on advice about a node that is forgotten or revoked.
    const isGone = finding.node !== null && (node === null || (hub.live.nodes.get(node)?.revokedAt ?? null) !== null);
    return isGone ? [] : [{ ...finding, node }];
  });
  const profiles = await hub.db.profile.findMany({ select: { id: true, name: true } });
  const names = new Map(profiles.map(({ id, name }) => [id, name]));
  const dismissals = await readDismissals(hub);
  const advice = [...findIntervals(await writtenRuns(hub, nodeId)), ...stored].map((finding): Advice => {
    const key = keyOf(finding);
    return {
      ...finding,
      key,
      nodeName: finding.node === null ? null : (hub.live.nodes.get(finding.node)?.name ?? null),
      profileName: finding.profileId === null ? null : (names.get(finding.profileId) ?? null),
      betterName: finding.betterId === null ? null : (names.get(finding.betterId) ?? null),
      dismissal: dismissals.get(key) ?? null,
    };
  });
  const { up, down, rows, benchRows, oneIn } = advised;
  const inOrder = advice.toSorted(
    (a, b) =>
      ADVICE_KINDS.indexOf(a.kind) - ADVICE_KINDS.indexOf(b.kind) ||
      compare(a.nodeName ?? a.region ?? "", b.nodeName ?? b.region ?? "") ||
      compare(a.key, b.key),
  );
  return { advice: inOrder.slice(0, MOST_ADVICE), up, down, rows, benchRows, oneIn, days: DAYS, at: hub.now() };
}

const compare = (a: string, b: string): number => (a < b ? -1 : Number(a > b));

/** Returns a key that stays the same while only the numbers of a finding change. */
const keyOf = ({ kind, node, profileId, region, way, run, betterId }: Finding<string>): string =>
  [kind, node, profileId, region, way, run, kind === "best-bucket" ? betterId : null]
    .map((part) => part ?? "-")
    .join(" ");

async function readDismissals(hub: Hub): Promise<Map<string, Dismissal>> {
  const rows = await hub.db.adviceDismissal.findMany({
    where: { OR: [{ until: null }, { until: { gt: new Date(hub.now()) } }] },
  });
  return new Map(
    rows.map(({ key, reason, at, by, until }) => [
      key,
      { reason, by, at: at.getTime(), until: until?.getTime() ?? null },
    ]),
  );
}

async function writtenRuns(hub: Hub, nodeId: string | null): Promise<WrittenRun[]> {
  const nodes: (LiveNode | undefined)[] = nodeId === null ? [...hub.live.nodes.values()] : [hub.live.nodes.get(nodeId)];
  const found = await mapInSlices(nodes, (node) => {
    const row = node === undefined ? null : nodeRowOf(hub.live, node, hub.now());
    if (node === undefined || row === null || !isExpected(row.state)) return [];
    const { profileId } = node;
    const rates = hub.history.rates.transfers({ nodeId: node.id, profileId, direction: "upload" });
    return row.runs
      .filter(({ isWriter }) => isWriter)
      .map(({ run, intervalMs, safeBytes, risk }) => ({
        nodeId: node.id,
        profileId,
        run,
        intervalMs,
        checkpointBytes: safeBytes,
        waitingBytes: risk.bytes,
        rates,
      }));
  });
  return found.flat();
}
