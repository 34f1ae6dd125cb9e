import { ADOPTED_EPOCH } from "#protocol/checkpoint/adopted.ts";
import { Fault } from "#protocol/faults/fault.ts";
import type { LineageEpoch, LineageView } from "#protocol/checkpoint/lineage.ts";
import { FOREIGN_WRITER } from "../live/foreign-node.ts";
import { branchOfRow } from "./passed-over.ts";
import type { Hub } from "../api/hub.ts";

const MOST_EPOCHS = 200;
const REFUSALS_LISTED = 20;
const UNFINISHED: ReadonlySet<string> = new Set(["torn", "uploading"]);

type Sums = Pick<LineageEpoch, "firstStep" | "lastStep" | "complete" | "sizeBytes"> & { unfinished: number };

/** Returns sums per epoch. The database adds them up, so the cost of the answer grows with epochs, not with checkpoints. */
async function sumsByEpoch(hub: Pick<Hub, "db">, run: string): Promise<Map<number, Sums>> {
  const rows = await hub.db.checkpoint.groupBy({
    by: ["writerEpoch", "state"],
    where: { run },
    _count: { id: true },
    _min: { step: true },
    _max: { step: true },
    _sum: { sizeBytes: true },
  });
  const sums = new Map<number, Sums>();
  for (const row of rows) {
    const sum = sums.get(row.writerEpoch) ?? {
      firstStep: null,
      lastStep: null,
      complete: 0,
      sizeBytes: 0,
      unfinished: 0,
    };
    sums.set(row.writerEpoch, sum);
    if (UNFINISHED.has(row.state)) sum.unfinished += row._count.id;
    if (row.state !== "complete") continue;
    sum.complete = row._count.id;
    sum.sizeBytes = Number(row._sum.sizeBytes ?? 0n);
    sum.firstStep = row._min.step === null ? null : Number(row._min.step);
    sum.lastStep = row._max.step === null ? null : Number(row._max.step);
  }
  return sums;
}

/** Returns the epochs of a run with their parents, sums and losses, newest first. @throws Fault NOT_FOUND */
export async function readLineage(hub: Pick<Hub, "db">, run: string): Promise<LineageView> {
  if ((await hub.db.run.count({ where: { name: run } })) === 0) throw new Fault("NOT_FOUND", { subject: run });
  const sums = await sumsByEpoch(hub, run);
  const rows = await hub.db.epoch.findMany({
    where: { run },
    include: { node: { select: { name: true } } },
    orderBy: { epoch: "desc" },
    take: MOST_EPOCHS,
  });
  const total = await hub.db.epoch.count({ where: { run } });
  const losses = await hub.db.loss.groupBy({
    by: ["epoch"],
    where: { run, epoch: { in: rows.map(({ epoch }) => epoch) } },
    _sum: { lostSteps: true, lostMs: true },
  });
  const lostBy = new Map(
    losses.map(({ epoch, _sum: lost }) => [
      epoch,
      { steps: Number(lost.lostSteps ?? 0n), ms: Number(lost.lostMs ?? 0n) },
    ]),
  );
  const none: Sums = { firstStep: null, lastStep: null, complete: 0, sizeBytes: 0, unfinished: 0 };
  const epochs = rows.map(
    ({ epoch, nodeId, node, claimedAt, parentEpoch, parentStep, branch }, index): LineageEpoch => {
      const sum = sums.get(epoch) ?? none;
      return {
        epoch,
        nodeId,
        nodeName: node.name,
        claimedAt: claimedAt.getTime(),
        endedAt: rows[index - 1]?.claimedAt.getTime() ?? null,
        parent: parentEpoch === null || parentStep === null ? null : { epoch: parentEpoch, step: Number(parentStep) },
        branch: branchOfRow(branch),
        ...sum,
        // The current writer may still finish its uploads.
        unfinished: index === 0 ? 0 : sum.unfinished,
        lost: lostBy.get(epoch) ?? null,
      };
    },
  );
  const foreign = sums.get(ADOPTED_EPOCH);
  if (foreign !== undefined && total === rows.length) {
    const about = { nodeId: null, nodeName: FOREIGN_WRITER, claimedAt: null, parent: null, branch: null, lost: null };
    epochs.push({ epoch: ADOPTED_EPOCH, ...about, ...foreign, endedAt: rows.at(-1)?.claimedAt.getTime() ?? null });
  }
  return { run, epochs, omitted: total - rows.length, refusals: await readRefusals(hub, run) };
}

/** Returns uploads that were refused because another node had taken over the run. */
async function readRefusals(hub: Pick<Hub, "db">, run: string): Promise<LineageView["refusals"]> {
  const where = { run, direction: "upload", fault: { contains: '"EPOCH_OVER"' } };
  const newest = await hub.db.transfer.findMany({
    where,
    include: { node: { select: { name: true } } },
    orderBy: { createdAt: "desc" },
    take: REFUSALS_LISTED,
  });
  return {
    total: newest.length < REFUSALS_LISTED ? newest.length : await hub.db.transfer.count({ where }),
    newest: newest.map(({ endedAt, createdAt, nodeId, node, step }) => ({
      at: (endedAt ?? createdAt).getTime(),
      nodeId,
      nodeName: node.name,
      step: Number(step),
    })),
  };
}
