import type { DamageReport } from "#protocol/checkpoint/damage.ts";
import { lstat } from "node:fs/promises";
import { dirname } from "node:path";
import type { Engine } from "../transfer/engine.ts";
import type { Patience } from "../transfer/store-session/retry.ts";
import type { ProgressCounters } from "../transfer/progress/transfer-progress.ts";
import { damageOfFiles } from "./damage-of.ts";
import { findStaged } from "./placement/find-staged.ts";
import { planBatches, type Batch } from "./plan-batches.ts";
import { receiveBatches, type BatchFile } from "./receive-batch.ts";
import { makeParents } from "./placement/safe-place.ts";
import { syncFiles } from "./placement/sync-files.ts";

/** Files that are fetched together, and files that are fetched one by one. */
export interface SplitFiles {
  batches: readonly Batch[];
  /** Indexes of small files that an earlier process has written whole. */
  staged: ReadonlySet<number>;
  /** Indexes of files that are fetched one by one. */
  alone: ReadonlySet<number>;
}

/** Splits the files of a restore. No faults; files of an earlier attempt that cannot be read are fetched again. */
export async function splitFiles(staging: string, files: readonly BatchFile[]): Promise<SplitFiles> {
  const manifestFiles = files.map(({ file }) => file);
  const all = planBatches(manifestFiles);
  const together = all.batches.flatMap(({ members }) => members.map(({ index }) => index));
  const isBegun = await lstat(staging).then(
    () => true,
    () => false,
  );
  const staged = isBegun ? await findStaged(files, together) : new Set<number>();
  const { batches, alone } = staged.size === 0 ? all : planBatches(manifestFiles, staged);
  return { batches, staged, alone: new Set(alone) };
}

/**
 * Fetches the batches and makes their files durable. This ends before the folder gets its name. Faults: as `receiveBatches`,
 * HOSTILE_NAME, FOLDER_UNWRITABLE.
 */
export async function restorePacked(
  engine: Engine,
  { batches, staged }: SplitFiles,
  about: {
    files: readonly BatchFile[];
    staging: string;
    signal: AbortSignal;
    patience: Patience;
    counters: ProgressCounters;
    onDamage: (damage: DamageReport) => void;
  },
): Promise<void> {
  const { files, staging, signal, patience, counters, onDamage } = about;
  const sizeOf = (fileIndex: number) => files[fileIndex]?.file.sizeBytes ?? 0;
  for (const fileIndex of staged) {
    counters.part({ fileIndex, partIndex: 0, length: sizeOf(fileIndex) }, "kept");
    counters.fileDone();
  }
  const members = batches.flatMap((batch) => batch.members);
  const folders = new Set<string>();
  for (const { index } of members) {
    const place = files[index]?.place ?? "";
    if (folders.has(dirname(place))) continue;
    await makeParents(staging, place);
    folders.add(dirname(place));
  }
  await receiveBatches(engine, batches, {
    files,
    watch: {
      signal,
      patience,
      onMoved: counters.moved,
      onRetry: counters.retried,
      onFailed: (members, error) => {
        const damaged = members.flatMap(({ index }) => files[index]?.file ?? []);
        const damage = damageOfFiles(error, damaged);
        if (damage !== null) onDamage(damage);
      },
      onMember: ({ index, extent }, state) => {
        const movedBytes = extent.stored?.length ?? extent.length;
        counters.part({ fileIndex: index, partIndex: 0, length: extent.length, movedBytes }, state);
        if (state === "done") counters.fileDone();
      },
    },
  });
  const written = [...staged, ...members.map(({ index }) => index)];
  await syncFiles(
    staging,
    written.flatMap((index) => files[index]?.place ?? []),
  );
}
