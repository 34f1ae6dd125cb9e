import { isExpected, presenceAt } from "#protocol/fleet/node-status.ts";
import { Fault, isFault } from "#protocol/faults/fault.ts";
import type { RunName } from "#protocol/base/names.ts";
import { fitsPatterns } from "#protocol/base/scope.ts";
import { formatDuration } from "#protocol/base/units.ts";
import type { Epoch } from "#prisma/client/client.ts";
import { emit, recordEvent } from "../events/record-event.ts";
import type { Hub } from "../api/hub.ts";
import { stateOf, type LiveNode } from "../live/live-node.ts";
import { currentEpoch } from "../runs/newest.ts";

/**
 * Which node may open the next epoch of a run. Two questions: whether the node may write this run at all (the patterns of its
 * token or its page; without them its own, new ones, and those that it named when it enrolled, unless they belong to nodes that
 * came by another way), and whether the run is free:
 * its writer is silent, has left or was revoked, or the node replaces it by the platform's own word (the same container group).
 * What a node says of itself, such as the id of its machine, proves nothing. A person can hand a run over, which answers both.
 */
export interface Claimant {
  hub: Hub;
  run: RunName;
  node: LiveNode;
}

/** A run that was handed over waits this long for its node. */
const HANDED_MS = 24 * 3_600_000;

/** @throws Fault RUN_NOT_ALLOWED */
export async function requireAllowed({ hub, run, node }: Claimant): Promise<void> {
  const last = await currentEpoch(hub.db, run);
  if (last?.nodeId === node.id || (await isHandedTo({ hub, run, node }))) return;
  if (node.mayWrite !== null) {
    if (fitsPatterns(run, node.mayWrite)) return;
    throw new Fault("RUN_NOT_ALLOWED", { op: "claimEpoch", subject: run, detail: `it may write ${node.mayWrite}` });
  }
  if (last === null || (await hasWritten({ hub, run, node }))) return;
  const where = { id: node.id };
  const { namedRuns } = await hub.db.node.findUniqueOrThrow({ where, select: { namedRuns: true } });
  if (namedRuns === null) {
    await hub.db.node.update({ where, data: { namedRuns: JSON.stringify([run]) } });
    return;
  }
  if (namesOf(namedRuns).includes(run)) return;
  throw new Fault("RUN_NOT_ALLOWED", {
    op: "claimEpoch",
    subject: run,
    detail: "it did not name it when it enrolled, and others have written it",
  });
}

const hasWritten = async ({ hub, run, node }: Claimant): Promise<boolean> =>
  (await hub.db.epoch.count({ where: { run, nodeId: node.id } })) > 0 ||
  (await hub.db.epochMember.count({ where: { run, nodeId: node.id } })) > 0;

/**
 * What a node names itself opens no run of nodes that came by another way than it did.
 * @throws Fault RUN_NOT_ALLOWED
 */
export async function requireSameWay({ hub, run, node }: Claimant): Promise<void> {
  const last = await currentEpoch(hub.db, run);
  if (last === null || last.nodeId === node.id || node.mayWrite !== null) return;
  if ((await hasWritten({ hub, run, node })) || (await isHandedTo({ hub, run, node }))) return;
  if (await cameTheSameWay(hub, node, last.nodeId)) return;
  const detail = "its token has no pattern for it, and the node that wrote it last came with another token";
  throw new Fault("RUN_NOT_ALLOWED", { op: "claimEpoch", subject: run, detail });
}

/**
 * Whether a node came as the writer before it did: with the same join token, or in the same container group. One that replaces a
 * machine does; whoever holds a token for something else does not. Of a writer from before this was kept, or out of a bucket, nobody
 * knows how it came. A token is for one bucket: nodes of another one take part because a person made that a home of the run.
 */
async function cameTheSameWay(hub: Hub, node: LiveNode, writerId: string): Promise<boolean> {
  const where = { id: writerId };
  const writer = await hub.db.node.findUnique({ where, select: { tokenId: true, identity: true, profileId: true } });
  if (writer === null || writer.profileId !== node.profileId) return true;
  if (writer.tokenId === null && writer.identity === null) return true;
  return (node.tokenId !== null && node.tokenId === writer.tokenId) || isOfGroup(node, writer);
}

/** @throws Fault RUN_IN_USE */
export async function requireFree({ hub, run, node }: Claimant, last: Epoch | null): Promise<void> {
  if (last === null || last.nodeId === node.id) return;
  const writer = hub.live.nodes.get(last.nodeId);
  if (writer === undefined || !holdsLease(writer, hub.now()) || isOfGroup(node, writer)) return;
  if (await isHandedTo({ hub, run, node })) return;
  const quietMs = hub.now() - (writer.lastSeenAt ?? writer.quietSince);
  const detail = `${writer.name}, ${formatDuration(Math.max(0, quietMs))} ago`;
  throw new Fault("RUN_IN_USE", { op: "claimEpoch", subject: run, detail });
}

/** Holds its lease. A writer of which a hub that has just started does not know yet gets the time to speak. */
const holdsLease = (writer: LiveNode, now: number): boolean =>
  isExpected(stateOf(writer)) && writer.lastSeenAt !== null && presenceAt(writer, now) !== "silent";

/** By the word of the platform: `salad:organization/workload/machine`. */
const groupOf = ({ identity }: Pick<LiveNode, "identity">): string | null =>
  identity === null ? null : identity.slice(0, identity.lastIndexOf("/"));

const isOfGroup = (node: LiveNode, writer: Pick<LiveNode, "identity">): boolean =>
  groupOf(node) !== null && groupOf(node) === groupOf(writer);

async function isHandedTo({ hub, run, node }: Claimant): Promise<boolean> {
  const found = await hub.db.run.findUnique({ where: { name: run }, select: { handedToId: true, handedAt: true } });
  return found?.handedToId === node.id && found.handedAt !== null && hub.now() - found.handedAt.getTime() < HANDED_MS;
}

function namesOf(json: string): readonly unknown[] {
  const read: unknown = JSON.parse(json);
  return Array.isArray(read) ? read : [];
}

const NOTED: ReadonlySet<string> = new Set(["RUN_NOT_ALLOWED", "RUN_IN_USE"]);
/** The same claim is on record again after this long. */
const NOTED_EVERY_MS = 10 * 60_000;
const MOST_NOTED_AN_HOUR = 30;

/** Puts a claim that is refused on record: the alert rule "claim-refused" reads it there. */
export async function notingRefusal<T>({ hub, run, node }: Claimant, claim: () => Promise<T>): Promise<T> {
  try {
    return await claim();
  } catch (error) {
    if (isFault(error) && NOTED.has(error.code)) await note({ hub, run, node }, error);
    throw error;
  }
}

async function note({ hub, run, node }: Claimant, fault: Fault): Promise<void> {
  const now = hub.now();
  const since = (ms: number) => ({ kind: "claim-refused", nodeId: node.id, at: { gte: new Date(now - ms) } });
  if ((await hub.db.event.count({ where: { ...since(NOTED_EVERY_MS), run } })) > 0) return;
  if ((await hub.db.event.count({ where: since(3_600_000) })) >= MOST_NOTED_AN_HOUR) return;
  const writer = hub.live.nodes.get(hub.live.writers.get(run)?.nodeId ?? "");
  const why =
    fault.code === "RUN_IN_USE" && writer !== undefined ? `, which ${writer.name} writes` : ", which it may not write";
  const text = `asked to write ${run}${why}`;
  const line = { at: now, kind: "claim-refused" as const, work: "risk" as const, node, run, text };
  emit(hub, await recordEvent(hub.db, { ...line, fault: fault.toData() }), ["runs"]);
}
