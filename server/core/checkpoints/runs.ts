import { CHECKPOINTS_AT_FIRST } from "#protocol/wire/checkpoint-pages.ts";
import { CHECKPOINT_STATES, type CheckpointState } from "#protocol/checkpoint/checkpoint.ts";
import { Fault } from "#protocol/faults/fault.ts";
import type { CheckpointKeeping } from "#protocol/retention/keeping.ts";
import { NO_RISK } from "#protocol/wire/risk.ts";
import type { EpochView } from "#protocol/checkpoint/lineage.ts";
import type { NodeRunView, RunRow, RunView } from "#protocol/wire/views.ts";
import type { Checkpoint, Profile, Run } from "#prisma/client/client.ts";
import type { Transaction } from "#prisma/open.ts";
import type { Hub } from "../api/hub.ts";
import { stateOf } from "../live/live-node.ts";
import { nodeRowOf } from "../live/node-row.ts";
import { findKeeping } from "../retention/find-keeping.ts";
import { bytesMoving, checkpointRowOf } from "./checkpoint-row.ts";
import { branchOfRow, findPassedOver } from "../runs/passed-over.ts";
import { currentEpoch, newestComplete, newestOfEach } from "../runs/newest.ts";

/** Returns the current writer's report on the run; null without a writer or a report. */
function writersView(hub: Hub, run: string): NodeRunView | null {
  const writer = hub.live.writers.get(run);
  const node = writer === undefined ? undefined : hub.live.nodes.get(writer.nodeId);
  if (node === undefined) return null;
  return nodeRowOf(hub.live, node, hub.now()).runs.find((view) => view.run === run) ?? null;
}

/** Refused claims are shown for this long. */
const ASKED_MS = 86_400_000;

type StateSums = Record<CheckpointState, { count: number; bytes: number }>;

const NO_SUMS = Object.fromEntries(CHECKPOINT_STATES.map((state) => [state, { count: 0, bytes: 0 }])) as StateSums;

/** Returns per run the number and bytes of checkpoints in each state. The database adds them up. `run` left out: all runs. */
async function stateSums(db: Pick<Transaction, "checkpoint">, run?: string): Promise<Map<string, StateSums>> {
  const rows = await db.checkpoint.groupBy({
    by: ["run", "state"],
    where: run === undefined ? {} : { run },
    _count: { id: true },
    _sum: { sizeBytes: true },
  });
  const sums = new Map<string, StateSums>();
  for (const row of rows) {
    const known = sums.get(row.run) ?? NO_SUMS;
    const one = { count: row._count.id, bytes: Number(row._sum.sizeBytes ?? 0n) };
    sums.set(row.run, { ...known, [row.state]: one });
  }
  return sums;
}

/** The database's part of a run's row; the nodes' reports are the other part. */
interface RunFacts {
  epoch: { epoch: number; nodeId: string } | null;
  newest: Pick<Checkpoint, "id" | "step" | "capturedAt"> | null;
  sums: StateSums;
}

function runRowOf(hub: Hub, run: Run & { profile: Profile }, { epoch, newest, sums }: RunFacts): RunRow {
  const { name, profile } = run;
  const view = writersView(hub, name);
  const writer = epoch === null ? undefined : hub.live.nodes.get(epoch.nodeId);
  return {
    name,
    profileId: profile.id,
    profileName: profile.name,
    bucket: profile.bucket,
    location: `s3://${profile.bucket}/${profile.prefix}runs/${name}/`,
    writerEpoch: epoch?.epoch ?? 0,
    writerNodeId: epoch?.nodeId ?? null,
    writerNodeName: writer?.name ?? null,
    writerState: writer === undefined ? null : stateOf(writer),
    newestStep: newest === null ? null : Number(newest.step),
    newestAt: newest?.capturedAt.getTime() ?? null,
    newestCheckpointId: newest?.id ?? null,
    uploading: sums.uploading.count,
    complete: sums.complete.count,
    totalBytes: sums.complete.bytes,
    intervalMs: view?.intervalMs ?? null,
    createdAt: run.createdAt.getTime(),
    work: view?.work ?? "safe",
    risk: view?.risk ?? NO_RISK,
  };
}

/** Returns all runs, newest first. The number of queries does not depend on the number of runs. */
export async function listRuns(hub: Hub): Promise<RunRow[]> {
  const { db } = hub;
  const runs = await db.run.findMany({ include: { profile: true }, orderBy: { createdAt: "desc" } });
  const newest = await newestOfEach(db);
  const sums = await stateSums(db);
  return runs.map((run) => {
    const writer = hub.live.writers.get(run.name);
    return runRowOf(hub, run, {
      epoch: writer ?? null,
      newest: newest.get(run.name) ?? null,
      sums: sums.get(run.name) ?? NO_SUMS,
    });
  });
}

/** Counts pinned and tagged checkpoints, without those in the trash, which are not listed. */
function countKept(keeping: ReadonlyMap<string, CheckpointKeeping>): RunView["kept"] {
  const kept = [...keeping.values()].filter(({ trash }) => trash === null);
  return {
    pinned: kept.filter(({ isPinned }) => isPinned).length,
    tagged: kept.filter(({ tags }) => tags.length > 0).length,
  };
}

/** Returns the nodes whose claim was refused, newest first, leaving out revoked nodes and the current writer. */
async function askedBy(hub: Hub, run: string): Promise<RunView["askedBy"]> {
  const rows = await hub.db.event.findMany({
    where: { run, kind: "claim-refused", at: { gte: new Date(hub.now() - ASKED_MS) } },
    orderBy: { id: "desc" },
    take: 50,
  });
  const writer = hub.live.writers.get(run)?.nodeId;
  const found = new Map<string, RunView["askedBy"][number]>();
  for (const { nodeId, at } of rows) {
    const node = nodeId === null ? undefined : hub.live.nodes.get(nodeId);
    if (node === undefined || node.revokedAt !== null || node.id === writer || found.has(node.id)) continue;
    found.set(node.id, { nodeId: node.id, nodeName: node.name, at: at.getTime() });
  }
  return [...found.values()];
}

/**
 * Reads everything about a run in one transaction, so that a checkpoint that becomes complete meanwhile shows everywhere or
 * nowhere. @throws Fault NOT_FOUND
 */
async function readRun(tx: Transaction, name: string) {
  const run = await tx.run.findUnique({ where: { name }, include: { profile: true } });
  if (run === null) throw new Fault("NOT_FOUND", { subject: name });
  const sums = (await stateSums(tx, name)).get(name) ?? NO_SUMS;
  const facts = { epoch: await currentEpoch(tx, name), newest: await newestComplete(tx, name), sums };
  const epochs = await tx.epoch.findMany({
    where: { run: name },
    include: { node: { select: { name: true } } },
    orderBy: { epoch: "desc" },
  });
  const checkpoints = await tx.checkpoint.findMany({
    // The row of the joined checkpoint stands for its pieces.
    where: { run: name, state: { not: "joined" } },
    include: { node: { select: { name: true } } },
    orderBy: [{ writerEpoch: "desc" }, { step: "desc" }, { announcedAt: "desc" }, { id: "desc" }],
    take: CHECKPOINTS_AT_FIRST,
  });
  const passedOver = await findPassedOver(tx, name);
  return { run, facts, epochs, checkpoints, passedOver, keeping: await findKeeping(tx, { run: name }) };
}

/** Returns one run with its epochs and newest checkpoints. @throws Fault NOT_FOUND */
export async function getRun(hub: Hub, name: string): Promise<RunView> {
  const { run, facts, epochs, checkpoints, passedOver, keeping } = await hub.db.$transaction((tx) => readRun(tx, name));
  const { sums } = facts;
  const row = runRowOf(hub, run, facts);
  const handed = run.handedToId === null ? null : (hub.live.nodes.get(run.handedToId) ?? null);
  const context = { newestId: row.newestCheckpointId, moving: bytesMoving(hub.live), keeping };
  return {
    ...row,
    byState: Object.fromEntries(CHECKPOINT_STATES.map((state) => [state, sums[state].count])) as RunView["byState"],
    kept: countKept(keeping),
    askedBy: await askedBy(hub, name),
    handedTo: handed === null ? null : { nodeId: handed.id, nodeName: handed.name },
    passedOver: passedOver.map(({ given, fromStep, path, wrote, nodeId, at }) => {
      const nodeName = epochs.find((one) => one.nodeId === nodeId)?.node.name ?? "";
      return { given, fromStep, path, ...(wrote !== undefined && { wrote }), nodeName, at };
    }),
    epochs: epochs.map(({ epoch, parentEpoch, parentStep, branch, nodeId, node, claimedAt }): EpochView => ({
      epoch,
      branch: branchOfRow(branch),
      parent: parentEpoch === null || parentStep === null ? null : { epoch: parentEpoch, step: Number(parentStep) },
      nodeId,
      nodeName: node.name,
      claimedAt: claimedAt.getTime(),
    })),
    checkpoints: checkpoints.map((checkpoint) => checkpointRowOf(checkpoint, context)),
  };
}
