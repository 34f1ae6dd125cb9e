import { isExpected, presenceAt } from "#protocol/fleet/node-status.ts";
import { Fault, isFault } from "#protocol/faults/fault.ts";
import type { RunName } from "#protocol/base/names.ts";
import { fitsPatterns } from "#protocol/base/scope.ts";
import { formatDuration } from "#protocol/base/units.ts";
import type { Epoch } from "#prisma/client/client.ts";
import { emit, recordEvent } from "../events/record-event.ts";
import type { Hub } from "../api/hub.ts";
import { stateOf, type LiveNode } from "../live/live-node.ts";
import { hasWritten } from "../runs/is-writer.ts";
import { currentEpoch } from "../runs/newest.ts";

/**
 * Decides which node may open the next epoch of a run. First, the node must be allowed to write the run: by the patterns of
 * its token or its page. Without patterns it may write its own runs, new ones, and those it named at enrollment, unless these
 * belong to nodes that enrolled another way. Second, the run must be free: its writer is silent, has left or was revoked. It
 * also counts as free if the platform confirms that the node replaces the writer (the same container group). Claims of a node
 * about itself, such as its machine id, prove nothing. A person can hand a run over, which meets both conditions. The run of a job is
 * claimed for the node that is handed the job, without these conditions; while that node runs it, its group takes nothing over.
 */
export interface Claimant {
  hub: Hub;
  run: RunName;
  node: LiveNode;
}

/** How long a handover waits for its node. */
const HANDED_MS = 24 * 3_600_000;

/** Checks the node's patterns, or the runs it named. @throws Fault RUN_NOT_ALLOWED */
export async function requireAllowed({ hub, run, node }: Claimant): Promise<void> {
  const last = await currentEpoch(hub.db, run);
  if (last?.nodeId === node.id || (await isHandedTo({ hub, run, node }))) return;
  if (node.mayWrite !== null) {
    if (fitsPatterns(run, node.mayWrite)) return;
    throw new Fault("RUN_NOT_ALLOWED", { op: "claimEpoch", subject: run, detail: `it may write ${node.mayWrite}` });
  }
  if (last === null || (await hasWritten(hub.db, { run }, node.id))) return;
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

/** Refuses a run that the node named itself if its nodes enrolled in another way. @throws Fault RUN_NOT_ALLOWED */
export async function requireSameWay({ hub, run, node }: Claimant): Promise<void> {
  const last = await currentEpoch(hub.db, run);
  if (last === null || last.nodeId === node.id || node.mayWrite !== null) return;
  if ((await hasWritten(hub.db, { run }, node.id)) || (await isHandedTo({ hub, run, node }))) return;
  if (await cameTheSameWay(hub, node, last.nodeId)) return;
  const detail = "its token has no pattern for it, and the node that wrote it last came with another token";
  throw new Fault("RUN_NOT_ALLOWED", { op: "claimEpoch", subject: run, detail });
}

/**
 * Returns whether a node enrolled like the previous writer: with the same join token, or in the same container group. A
 * replacement for a machine does; a holder of a token for another purpose does not. Writers recorded before this was tracked,
 * or read from a bucket, pass. So do nodes of another bucket: a token is for one bucket, so a person must have made that
 * bucket a home of the run.
 */
async function cameTheSameWay(hub: Hub, node: LiveNode, writerId: string): Promise<boolean> {
  const where = { id: writerId };
  const writer = await hub.db.node.findUnique({ where, select: { tokenId: true, identity: true, profileId: true } });
  if (writer === null || writer.profileId !== node.profileId) return true;
  if (writer.tokenId === null && writer.identity === null) return true;
  return (node.tokenId !== null && node.tokenId === writer.tokenId) || isOfGroup(node, writer);
}

/** Checks that no live node holds the run. @throws Fault RUN_IN_USE */
export async function requireFree({ hub, run, node }: Claimant, last: Epoch | null): Promise<void> {
  if (last === null || last.nodeId === node.id) return;
  const writer = hub.live.nodes.get(last.nodeId);
  if (writer === undefined || !holdsLease(writer, hub.now())) return;
  if (isOfGroup(node, writer) && !(await isLeased(hub, run, writer.id))) return;
  if (await isHandedTo({ hub, run, node })) return;
  const quietMs = hub.now() - (writer.lastSeenAt ?? writer.quietSince);
  const detail = `${writer.name}, ${formatDuration(Math.max(0, quietMs))} ago`;
  throw new Fault("RUN_IN_USE", { op: "claimEpoch", subject: run, detail });
}

/** Returns whether the writer runs a job in the run: then the hub moves it, and no other node of the group takes it over. */
const isLeased = async (hub: Hub, run: RunName, writerId: string): Promise<boolean> =>
  (await hub.db.jobAttempt.count({ where: { endedAt: null, nodeId: writerId, job: { run } } })) > 0;

/** Returns whether the writer still counts as alive. After a start of the hub, a writer not heard yet gets time to report. */
const holdsLease = (writer: LiveNode, now: number): boolean =>
  isExpected(stateOf(writer)) && writer.lastSeenAt !== null && presenceAt(writer, now) !== "silent";

/** Returns the container group of the verified identity `salad:organization/workload/machine`. */
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
/** The same refused claim is recorded again only after this long. */
const NOTED_EVERY_MS = 10 * 60_000;
const MOST_NOTED_AN_HOUR = 30;

/** Records an event when a claim is refused; the alert rule "claim-refused" reads it. */
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
