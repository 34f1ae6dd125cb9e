import { stepText } from "#protocol/checkpoint/step-words.ts";
import { isExpected } from "#protocol/fleet/node-status.ts";
import type { EventKind } from "#protocol/base/event-kinds.ts";
import { sentenceOf } from "#protocol/faults/fault.ts";
import { ENDED_UNSAFE } from "#protocol/wire/reports.ts";
import { formatBytes, formatDuration } from "#protocol/base/units.ts";
import { visibleText } from "#protocol/base/visible-text.ts";
import { failedSignInsSince } from "#server/core/accounts/auth/refusals.ts";
import type { Checkpoint } from "#prisma/client/client.ts";
import { doubtfulFinal, newestComplete } from "#server/core/runs/newest.ts";
import { storedFault } from "#server/core/events/event-row.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { stateOf } from "#server/core/live/live-node.ts";
import type { LiveRule } from "#server/core/api/ports/alert-memory.ts";
import type { Finding } from "./find-live.ts";
import { failedJobs, stuckQueues } from "./find-jobs.ts";
import { beganElsewhereWords } from "#protocol/history/passed-over.ts";
import { findPassedOver } from "#server/core/runs/passed-over.ts";
import { isMeant } from "./is-meant.ts";

/** Evaluates the alert rules that only the database can answer, by queries on indexed columns. */

/** Most findings of one rule; more would go into the same message anyway. */
const MOST = 1_000;

/** Returns the findings of a rule; null for a rule that live memory answers. */
export async function findStored(hub: Hub, rule: LiveRule): Promise<Finding[] | null> {
  const { condition } = rule;
  switch (condition.kind) {
    case "restore-failed":
      return failedRestores(hub, rule, condition.withinMs);
    case "rejected":
      return rejectedNodes(hub, rule, condition);
    case "bucket-away":
      return bucketsAway(hub, rule, condition.longerThanMs);
    case "work-lost":
      return lostWork(hub, rule, condition);
    case "sign-ins-failed":
      return failedSignIns(hub, condition);
    case "hub-disk":
      return hubDisk(hub, condition);
    case "claim-refused":
      return refusedClaims(hub, rule, condition.withinMs);
    case "doubtful":
      return doubtfulOnes(hub, rule, condition.withinMs);
    case "nothing-safe":
      return endedUnsafe(hub, rule, condition.withinMs);
    case "began-elsewhere":
      return beganElsewhere(hub, rule);
    case "job-failed":
      return failedJobs(hub, rule, condition.withinMs);
    case "queue-stuck":
      return stuckQueues(hub, condition.longerThanMs);
    default:
      return null;
  }
}

/** Verb of the alert text by direction of the transfer. Reading a checkpoint back counts as trying a restore. */
const TRIED: Readonly<Record<string, string>> = { verify: "verify", drill: "rehearse a restore of" };

async function failedRestores(hub: Hub, rule: LiveRule, withinMs: number): Promise<Finding[]> {
  const since = new Date(hub.now() - withinMs);
  const rows = await hub.db.transfer.findMany({
    where: { state: "failed", direction: { in: ["download", "verify", "drill"] }, endedAt: { gte: since } },
    include: { node: { select: { name: true } } },
    orderBy: { createdAt: "desc" },
    take: MOST,
  });
  return rows
    .filter((row) => isMeant(hub, rule, row))
    .map((row) => {
      const fault = storedFault(row.fault);
      const why = fault === null ? "" : `: ${sentenceOf(fault)}`;
      return {
        subject: row.id,
        nodeId: row.nodeId,
        nodeName: row.node.name,
        run: row.run,
        text: `could not ${TRIED[row.direction] ?? "restore"} ${stepText(row.step)} of ${row.run}${why}`,
        since: row.endedAt?.getTime() ?? hub.now(),
      };
    });
}

async function rejectedNodes(
  hub: Hub,
  rule: LiveRule,
  { morePercent, withinMs, leastNodes }: { morePercent: number; withinMs: number; leastNodes: number },
): Promise<Finding[]> {
  const now = hub.now();
  const probes = await hub.db.probe.findMany({
    where: { at: { gte: new Date(now - withinMs) } },
    orderBy: { at: "asc" },
    select: { nodeId: true, profileId: true, outcome: true },
  });
  // Each node counts once, with its newest probe.
  const last = new Map(
    probes
      .filter(({ nodeId }) => isMeant(hub, rule, { nodeId, run: null }))
      .map(({ nodeId, profileId, outcome }) => [nodeId, { profileId, isRejected: outcome === "reject" }]),
  );
  const byProfile = new Map<string, { nodes: number; rejected: number }>();
  for (const { profileId, isRejected } of last.values()) {
    const sum = byProfile.get(profileId) ?? { nodes: 0, rejected: 0 };
    byProfile.set(profileId, { nodes: sum.nodes + 1, rejected: sum.rejected + (isRejected ? 1 : 0) });
  }
  const found: Finding[] = [];
  for (const [profileId, { nodes, rejected }] of byProfile) {
    if (nodes < leastNodes || (rejected / nodes) * 100 <= morePercent) continue;
    const profile = await hub.db.profile.findUnique({ where: { id: profileId }, select: { name: true } });
    const text = `${rejected} of the ${nodes} nodes that measured their link to ${profile?.name ?? "a bucket"} within ${formatDuration(withinMs)} were rejected`;
    found.push({ subject: profileId, nodeId: null, nodeName: null, run: null, text, since: now });
  }
  return found;
}

function failedSignIns(hub: Hub, about: { moreThan: number; withinMs: number }): Finding[] {
  const now = hub.now();
  const failed = failedSignInsSince(hub, now - about.withinMs);
  if (failed <= about.moreThan) return [];
  const text = `${failed} sign-ins failed within ${formatDuration(about.withinMs)}`;
  return [{ subject: "hub", nodeId: null, nodeName: null, run: null, text, since: now }];
}

/** Returns findings about the last measurement of the data folder; none before the first. */
function hubDisk(hub: Hub, about: { lessFreeBytes: number; moreLogBytes: number }): Finding[] {
  const room = hub.counters.database;
  if (room === null) return [];
  const of = (subject: string, text: string): Finding => {
    return { subject, nodeId: null, nodeName: null, run: null, text, since: hub.now() };
  };
  const log = `the write-ahead log of the hub's database is ${formatBytes(room.logBytes)} long: most likely a program reads hub.db in one transaction that does not end`;
  return [
    ...(room.freeBytes < about.lessFreeBytes
      ? [of("hub-disk", `the disk of the hub has ${formatBytes(room.freeBytes)} free`)]
      : []),
    ...(room.logBytes > about.moreLogBytes ? [of("hub-log", log)] : []),
  ];
}

/** Returns one finding for each unreachable bucket, however many nodes report it. */
async function bucketsAway(hub: Hub, rule: LiveRule, longerThanMs: number): Promise<Finding[]> {
  const byProfile = new Map<string, { nodes: number; since: number }>();
  for (const node of hub.live.nodes.values()) {
    if (!isExpected(stateOf(node)) || !isMeant(hub, rule, { nodeId: node.id, run: null })) continue;
    for (const { profileId, since } of node.report?.homesAway ?? []) {
      const known = byProfile.get(profileId) ?? { nodes: 0, since };
      byProfile.set(profileId, { nodes: known.nodes + 1, since: Math.min(known.since, since) });
    }
  }
  const found: Finding[] = [];
  for (const [profileId, { nodes, since }] of byProfile) {
    if (hub.now() - since <= longerThanMs) continue;
    const profile = await hub.db.profile.findUnique({ where: { id: profileId }, select: { name: true } });
    const text = `${profile?.name ?? "a bucket"} is out of reach of ${nodes === 1 ? "one node" : `${nodes} nodes`}, which save elsewhere`;
    found.push({ subject: profileId, nodeId: null, nodeName: null, run: null, text, since });
  }
  return found;
}

/** Reads the events of a kind within the last `withinMs`, oldest first. */
const readEvents = (hub: Hub, kind: EventKind, withinMs: number) =>
  hub.db.event.findMany({
    where: { kind, at: { gte: new Date(hub.now() - withinMs) } },
    orderBy: { id: "asc" },
    take: MOST,
  });

/** A message that arrives this soon after the refusal may be older than it, so it does not prove that the writer goes on. */
const LATE_WORD_MS = 5_000;

/**
 * Finds refused claims that need attention. A claim right after the writer left is refused for half a minute, which is normal.
 * A refusal counts when the writer is heard from afterwards, or when the node may not write the run at all.
 */
async function refusedClaims(hub: Hub, rule: LiveRule, withinMs: number): Promise<Finding[]> {
  const rows = await readEvents(hub, "claim-refused", withinMs);
  const found = new Map<string, Finding>();
  for (const { nodeId, nodeName, run, at, text, fault } of rows) {
    if (nodeId === null || run === null || !isMeant(hub, rule, { nodeId, run })) continue;
    const writer = hub.live.writers.get(run);
    if (writer !== undefined && hub.live.mayWriteNow(run, nodeId)) continue;
    const heardAt = writer === undefined ? null : (hub.live.nodes.get(writer.nodeId)?.lastSeenAt ?? null);
    const goesOn = heardAt !== null && heardAt > at.getTime() + LATE_WORD_MS;
    if (storedFault(fault)?.code === "RUN_IN_USE" && !goesOn) continue;
    const subject = `${nodeId} ${run}`;
    found.set(subject, { subject, nodeId, nodeName, run, text, since: at.getTime() });
  }
  return [...found.values()];
}

/** Time that other nodes have to commit their pieces of a step. */
const PIECES_MS = 10 * 60_000;

/** Returns whether the run has a whole checkpoint that is as new. */
async function isFollowed(hub: Hub, { run, writerEpoch, step }: Checkpoint): Promise<boolean> {
  const newest = await newestComplete(hub.db, run);
  return newest !== null && newest.writerEpoch >= writerEpoch && newest.step >= step;
}

/** Finds doubtful checkpoints, and final models, of which the run has no newer whole one. */
async function doubtfulOnes(hub: Hub, rule: LiveRule, withinMs: number): Promise<Finding[]> {
  const rows = await hub.db.checkpoint.findMany({
    where: {
      state: "complete",
      doubt: { not: null },
      committedAt: { gte: new Date(hub.now() - withinMs) },
      // A piece stays doubtful until the other nodes commit theirs.
      OR: [{ piece: null }, { committedAt: { lt: new Date(hub.now() - PIECES_MS) } }],
    },
    include: { node: { select: { name: true } } },
    orderBy: { committedAt: "desc" },
    take: MOST,
  });
  const found: Finding[] = [];
  for (const row of rows) {
    const { id, nodeId, node, run, step, doubt, committedAt } = row;
    if (!isMeant(hub, rule, { nodeId, run })) continue;
    if (row.role === "final-model" ? (await doubtfulFinal(hub.db, run))?.id !== id : await isFollowed(hub, row))
      continue;
    const what = row.role === "final-model" ? `the final model of ${run}` : `${stepText(step)} of ${run}`;
    const text = `kept ${what}, which may not be whole: ${visibleText(doubt ?? "")}`;
    found.push({ subject: id, nodeId, nodeName: node.name, run, text, since: committedAt?.getTime() ?? hub.now() });
  }
  return found;
}

/** Finds runs whose program ended with nothing safe, until a checkpoint of the run becomes safe. */
async function endedUnsafe(hub: Hub, rule: LiveRule, withinMs: number): Promise<Finding[]> {
  const rows = await readEvents(hub, "capture-refused", withinMs);
  const found = new Map<string, Finding>();
  for (const { nodeId, nodeName, run, at, fault: text } of rows) {
    const fault = storedFault(text);
    if (nodeId === null || run === null || fault?.op !== ENDED_UNSAFE || !isMeant(hub, rule, { nodeId, run })) continue;
    const subject = `${nodeId} ${run}`;
    const why = fault.detail ?? "the program ended and nothing that it wrote is safe";
    found.set(subject, { subject, nodeId, nodeName, run, text: `kept nothing of ${run}: ${why}`, since: at.getTime() });
  }
  const still: Finding[] = [];
  for (const finding of found.values()) {
    const safe = await hub.db.checkpoint.findFirst({
      where: { run: finding.run ?? "", state: "complete", committedAt: { gt: new Date(finding.since) } },
      select: { id: true },
    });
    if (safe === null) still.push(finding);
  }
  return still;
}

/** Finds programs that did not continue from what they were given, while that matters. */
async function beganElsewhere(hub: Hub, rule: LiveRule): Promise<Finding[]> {
  const runs = await hub.db.epoch.groupBy({
    by: ["run"],
    where: { OR: [{ passedOver: { not: null } }, { branch: { not: null } }] },
    orderBy: { run: "asc" },
    take: MOST,
  });
  const found: Finding[] = [];
  for (const { run } of runs) {
    for (const { epoch, nodeId, given, fromStep, path, wrote, at } of await findPassedOver(hub.db, run)) {
      if (!isMeant(hub, rule, { nodeId, run })) continue;
      const nodeName = hub.live.nodes.get(nodeId)?.name ?? null;
      const words = beganElsewhereWords({
        given: given.step,
        from: fromStep,
        path: path === null ? null : visibleText(path),
        wrote: wrote === undefined ? null : visibleText(wrote),
      });
      const text = `saw that the program of ${run} ${words}`;
      found.push({ subject: `${run} ${epoch}`, nodeId, nodeName, run, text, since: at });
    }
  }
  return found;
}

async function lostWork(
  hub: Hub,
  rule: LiveRule,
  { moreThanMs, withinMs }: { moreThanMs: number; withinMs: number },
): Promise<Finding[]> {
  const rows = await hub.db.loss.findMany({
    where: { at: { gte: new Date(hub.now() - withinMs) }, lostMs: { gt: BigInt(moreThanMs) } },
    orderBy: { at: "desc" },
    take: MOST,
  });
  return rows
    .filter((row) => isMeant(hub, rule, row))
    .map((row) => ({
      subject: row.id,
      nodeId: row.nodeId,
      nodeName: hub.live.nodes.get(row.nodeId)?.name ?? null,
      run: row.run,
      text: `lost ${formatDuration(Number(row.lostMs))} of training of ${row.run}${lostStepsWords(row)}`,
      since: row.at.getTime(),
    }));
}

/** Returns an empty string where the number of steps is unknown. */
const lostStepsWords = ({ lostSteps, isEstimated }: { lostSteps: bigint; isEstimated: boolean }): string =>
  lostSteps === 0n ? "" : ` (${isEstimated ? "about " : ""}${lostSteps} steps)`;
