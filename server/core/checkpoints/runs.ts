import { CHECKPOINTS_AT_FIRST } from "#protocol/wire/checkpoint-pages.ts";
import { CHECKPOINT_STATES, type CheckpointState } from "#protocol/checkpoint/checkpoint.ts";
import { Fault } from "#protocol/faults/fault.ts";
import type { CheckpointKeeping } from "#protocol/retention/keeping.ts";
import { NO_RISK } from "#protocol/wire/risk.ts";
import type { EpochView, NodeRunView, RunRow, RunView } from "#protocol/wire/views.ts";
import type { Checkpoint, Profile, Run } from "#prisma/client/client.ts";
import type { Transaction } from "#prisma/open.ts";
import type { Hub } from "../api/hub.ts";
import { stateOf } from "../live/live-node.ts";
import { nodeRowOf } from "../live/node-row.ts";
import { findKeeping } from "../retention/find-keeping.ts";
import { bytesMoving, checkpointRowOf } from "./checkpoint-row.ts";
import { currentEpoch, newestComplete, newestOfEach } from "../runs/newest.ts";

/** What the run's present writer says about it; null when there is none or it has not spoken. */
function writersView(hub: Hub, run: string): NodeRunView | null {
  const writer = hub.live.writers.get(run);
  const node = writer === undefined ? undefined : hub.live.nodes.get(writer.nodeId);
  if (node === undefined) return null;
  return nodeRowOf(hub.live, node, hub.now()).runs.find((view) => view.run === run) ?? null;
}

/** A claim that was refused is shown this long. */
const ASKED_MS = 86_400_000;

type StateSums = Record<CheckpointState, { count: number; bytes: number }>;

const NO_SUMS = Object.fromEntries(CHECKPOINT_STATES.map((state) => [state, { count: 0, bytes: 0 }])) as StateSums;

/** By run, how many checkpoints are in each state, and their bytes, added up by the database. `run` left out: of every run. */
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

/** What the row of a run is made of, besides what its nodes say. */
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

/** Newest run first. As many questions for a thousand runs as for one. */
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

/** What is in the trash is not counted: it is not listed. */
function countKept(keeping: ReadonlyMap<string, CheckpointKeeping>): RunView["kept"] {
  const kept = [...keeping.values()].filter(({ trash }) => trash === null);
  return {
    pinned: kept.filter(({ isPinned }) => isPinned).length,
    tagged: kept.filter(({ tags }) => tags.length > 0).length,
  };
}

/** Nodes that asked for the run and were refused, newest first, and may still have it. */
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
 * Reads what the database knows of a run in one transaction: a checkpoint that becomes complete meanwhile is in all of it or in
 * none of it.
 * @throws Fault NOT_FOUND
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
    // Pieces that were joined are part of another row.
    where: { run: name, state: { not: "joined" } },
    include: { node: { select: { name: true } } },
    orderBy: [{ writerEpoch: "desc" }, { step: "desc" }, { announcedAt: "desc" }, { id: "desc" }],
    take: CHECKPOINTS_AT_FIRST,
  });
  return { run, facts, epochs, checkpoints, keeping: await findKeeping(tx, { run: name }) };
}

/** @throws Fault NOT_FOUND */
export async function getRun(hub: Hub, name: string): Promise<RunView> {
  const { run, facts, epochs, checkpoints, keeping } = await hub.db.$transaction((tx) => readRun(tx, name));
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
    epochs: epochs.map(({ epoch, parentEpoch, parentStep, nodeId, node, claimedAt }): EpochView => ({
      epoch,
      parent: parentEpoch === null || parentStep === null ? null : { epoch: parentEpoch, step: Number(parentStep) },
      nodeId,
      nodeName: node.name,
      claimedAt: claimedAt.getTime(),
    })),
    checkpoints: checkpoints.map((checkpoint) => checkpointRowOf(checkpoint, context)),
  };
}
