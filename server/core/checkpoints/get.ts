import { branchOfRow } from "../runs/passed-over.ts";
import { MOST_METRICS } from "#protocol/base/bounded.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { attemptPrefix } from "#protocol/checkpoint/keys.ts";
import { attemptId, runName } from "#protocol/base/names.ts";
import type { Transaction } from "#prisma/open.ts";
import type { CheckpointView } from "#protocol/wire/views.ts";
import { adoptionView } from "./external/adoption-view.ts";
import { copiesOf } from "../runs/copies-of.ts";
import type { Hub } from "../api/hub.ts";
import { findKeeping } from "../retention/find-keeping.ts";
import { sealedViewOf } from "../profiles/seal-keys.ts";
import { transferRowOf } from "../live/transfer-row.ts";
import { filesOf } from "./manifest/checkpoint-files.ts";
import { bytesMoving, checkpointRowOf } from "./checkpoint-row.ts";
import { newestComplete } from "../runs/newest.ts";

const FILES_LISTED = 1_000;
const RESTORES_LISTED = 50;
const CHECKS_LISTED = 10;

/** Reads the rows of a checkpoint in one transaction, so that they agree. */
async function readCheckpointRows(tx: Transaction, id: string) {
  const row = await tx.checkpoint.findUnique({
    where: { id },
    include: { node: { select: { name: true } }, adoption: true },
  });
  if (row === null) throw new Fault("NOT_FOUND", { subject: "this checkpoint" });
  const newest = await newestComplete(tx, row.run);
  const epoch = await tx.epoch.findUnique({ where: { run_epoch: { run: row.run, epoch: row.writerEpoch } } });
  const keeping = await findKeeping(tx, { checkpointId: id });
  const restores = await tx.transfer.findMany({
    where: { checkpointId: id, direction: "download" },
    include: { node: { select: { name: true } } },
    orderBy: { createdAt: "desc" },
    take: RESTORES_LISTED,
  });
  const checks = await tx.transfer.findMany({
    where: { checkpointId: id, direction: { in: ["verify", "drill"] } },
    include: { node: { select: { name: true } } },
    orderBy: { createdAt: "desc" },
    take: CHECKS_LISTED,
  });
  return { row, newest, epoch, keeping, restores, checks };
}

/** Returns one checkpoint with its files (the first 1,000) and its restores. @throws Fault NOT_FOUND */
export async function getCheckpoint(hub: Hub, id: string): Promise<CheckpointView> {
  const { row, newest, epoch, keeping, restores, checks } = await hub.db.$transaction((tx) =>
    readCheckpointRows(tx, id),
  );
  const files = await filesOf(hub, row);
  const at = { run: runName.parse(row.run), epoch: row.writerEpoch, attempt: attemptId.parse(row.attempt) };
  return {
    ...checkpointRowOf(row, {
      newestId: newest?.id ?? null,
      moving: bytesMoving(hub.live),
      mostMetrics: MOST_METRICS,
      keeping,
    }),
    attempt: row.attempt,
    parent:
      epoch === null || epoch.parentEpoch === null || epoch.parentStep === null
        ? null
        : { epoch: epoch.parentEpoch, step: Number(epoch.parentStep) },
    branch: branchOfRow(epoch?.branch ?? null),
    manifestKey: row.manifestKey,
    manifestSha256: row.manifestSha256,
    sealed: await sealedViewOf(hub, row.sealKeyId),
    location: `s3://${row.bucket}/${row.adoption?.place ?? attemptPrefix(row.prefix, at)}`,
    adoption: row.adoption === null ? null : adoptionView(row.adoption),
    copies: row.state === "complete" && row.adoption === null ? await copiesOf(hub, row) : [],
    files: files.slice(0, FILES_LISTED),
    filesOmitted: Math.max(0, files.length - FILES_LISTED),
    restores: restores.map((one) => hub.live.transfers.get(one.id)?.row ?? transferRowOf(one, one.node.name)),
    checks: checks.map((one) => hub.live.transfers.get(one.id)?.row ?? transferRowOf(one, one.node.name)),
  };
}
