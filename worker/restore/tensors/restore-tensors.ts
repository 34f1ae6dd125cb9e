import { constants } from "node:fs";
import { mkdir, open } from "node:fs/promises";
import { dirname, join } from "node:path";
import { isAdopted, type StoredFile, type StoredManifest } from "#protocol/checkpoint/adopted.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { crc32Hex } from "#storage/checksums/crc32.ts";
import { fileKeyOf } from "#storage/encryption/checkpoint-key.ts";
import { removeOwned } from "#worker/base/disk/change-disk.ts";
import { diskFault } from "#worker/base/disk-fault.ts";
import type { Engine } from "#worker/transfer/engine.ts";
import { forEachFile } from "#worker/base/for-each.ts";
import { checksumSlice } from "#worker/transfer/upload/read-part.ts";
import { openReceiveJournal, receiveFile, type ReceiveMemory } from "#worker/transfer/download/receive-file.ts";
import type { Piece } from "#worker/transfer/download/piece.ts";
import { sealedAs } from "#worker/transfer/download/sealed-piece.ts";
import { createPatience, type Patience } from "#worker/transfer/store-session/retry.ts";
import { createProgressCounters, type ProgressCounters } from "#worker/transfer/progress/transfer-progress.ts";
import { assertTargetUnused } from "../placement/assert-target-unused.ts";
import { dateOf, giveDatesAndOwner, giveModes, lockFolders } from "../placement/give-attributes.ts";
import type { MadeFolders } from "../placement/make-folders.ts";
import { damageOf } from "../damage-of.ts";
import { planTensors, type IndexPlan, type PlanWatch, type ShardPlan } from "./plan-tensors.ts";
import { putInPlace, type Places } from "../placement/put-in-place.ts";
import { setDate } from "../../base/disk/set-date.ts";
import type { RestoreJob } from "../restore-job.ts";
import { assertRoom } from "#worker/base/room.ts";
import { makeParents, placeUnder } from "../placement/safe-place.ts";
import { syncFiles } from "../placement/sync-files.ts";
import { writeCut } from "./write-cut.ts";
import { writeSmall } from "../placement/write-small.ts";

/**
 * Restores chosen tensors of a checkpoint to a folder. Their pieces are fetched like whole files, with a journal, but into a
 * sparse file beside the staging folder. Once verified, the tensors are copied out of it, and it is removed. So a killed
 * restore continues with the pieces and the finished files that it had.
 */
interface Landing {
  plan: ShardPlan;
  /** Path in the staging folder. */
  place: string;
  /** Path of the sparse file. */
  parts: string;
  pieces: Piece[];
  /** Represents the finished file in the journal. */
  made: Piece;
}

interface About {
  whole: StoredManifest;
  /** Key of an encrypted checkpoint. */
  key: Buffer | null;
  places: Places;
  /** Path of the journal of received pieces and finished files. */
  journal: string;
  folders: MadeFolders;
}

/**
 * Restores the tensors that the command names. Faults: as `restore`, BAD_INPUT, NOT_FOUND, MALFORMED, TOO_MUCH_INSIDE,
 * TARGET_EXISTS, SOURCE_CHANGED.
 */
export async function restoreTensors(engine: Engine, job: RestoreJob, about: About): Promise<ProgressCounters> {
  const { command, signal } = job;
  const { whole, key, places, folders } = about;
  const { target, staging } = places;
  const patience = createPatience(engine.retrier.clock);
  const onWrong = (file: StoredFile, error: unknown) => {
    const damage = damageOf(error, file);
    if (damage !== null) job.onDamage?.(damage);
  };
  const keys = key === null ? {} : { fileKeyOf: (path: string) => fileKeyOf(key, path) };
  const plan = await planTensors(engine, whole, {
    patterns: command.tensors ?? [],
    files: command.files ?? null,
    watch: { signal, patience, onRetry: () => undefined, onWrong, ...keys },
  });
  const shards = plan.shards.map((shard, index) => landingOf(shard, { places, index, ...keys }));
  const indexes = plan.indexes.map((index) => ({ index, place: placeUnder(staging, index.file.path) }));
  await assertTargetUnused(
    target,
    [...plan.shards, ...plan.indexes].map(({ file }) => file),
  );
  const counters = createProgressCounters(
    [
      ...plan.shards.map(({ file, movedBytes, pieces }) => ({
        path: file.path,
        sizeBytes: movedBytes,
        partCount: pieces.length,
      })),
      ...plan.indexes.map(({ file, movedBytes }) => ({ path: file.path, sizeBytes: movedBytes, partCount: 1 })),
    ],
    engine.retrier.clock.now,
  );
  job.onStart(counters);
  const memory = await openReceiveJournal(about.journal);
  try {
    const needed = plan.movedBytes + plan.landedBytes;
    await assertRoom(dirname(target), needed - rememberedBytes(shards, memory));
    await makeFolder(places.parts);
    const isSmall = ([, { pieces }]: [number, Landing]) => pieces.length <= 1;
    await forEachFile([...shards.entries()], { isSmall, direction: "down" }, async ([fileIndex, landing]) => {
      await makeParents(staging, landing.place);
      const landed = landShard(engine, landing, { fileIndex, memory, patience, counters, signal });
      await landed.catch((error: unknown) => {
        onWrong(landing.plan.file, error);
        throw error;
      });
    });
    for (const [at, { index, place }] of indexes.entries()) {
      await writeIndex(index, { staging, place });
      counters.moved(index.movedBytes);
      counters.part({ fileIndex: shards.length + at, partIndex: 0, length: index.movedBytes }, "done");
      counters.fileDone();
    }
    await syncFiles(
      staging,
      indexes.map(({ place }) => place),
    );
    if (signal.aborted) throw new Fault("CANCELLED");
    await removeOwned("restore-part", places.parts);
    const { onRefused } = job;
    const dateMs = dateOf(whole);
    const paths = new Set([...plan.shards, ...plan.indexes].map(({ file }) => file.path));
    await giveModes(staging, whole, { paths, onRefused });
    const attributes = isAdopted(whole) ? undefined : whole.attributes;
    await giveDatesAndOwner(staging, { dateMs, attributes, onRefused });
    await job.beforePlaced(staging, target, { kind: "folder", isOwnName: false });
    await putInPlace(places, job.replaced);
    await lockFolders(target, { attributes, onRefused });
    await folders.setDates(dateMs);
  } catch (error) {
    await memory.close();
    throw error;
  }
  await folders.forget();
  await memory.remove();
  return counters;
}

function landingOf(plan: ShardPlan, at: Pick<PlanWatch, "fileKeyOf"> & { places: Places; index: number }): Landing {
  const { file, cut } = plan;
  const { places, index } = at;
  const sealed = sealedAs(file, at.fileKeyOf?.(file.path));
  const pieces = plan.pieces.flatMap(({ extent, from, length, fileOffset }): Piece[] => {
    const whole = file.extents[extent];
    if (whole === undefined) return [];
    const { key, offset, etag } = whole;
    const crc32 = length === whole.length ? whole.crc32 : null;
    return [{ key, objectOffset: offset + from, fileOffset, length, crc32, etag, ...sealed }];
  });
  // Another choice of tensors makes another header, and so another file.
  const key = `tensors ${crc32Hex(cut.header)}`;
  const made: Piece = { key, etag: null, objectOffset: 0, fileOffset: 0, length: cut.sizeBytes, crc32: null };
  const place = placeUnder(places.staging, file.path);
  return { plan, place, parts: join(places.parts, String(index)), pieces, made };
}

/** Returns the bytes that an earlier process has on the disk. */
function rememberedBytes(shards: readonly Landing[], memory: ReceiveMemory): number {
  let total = 0;
  for (const { plan, place, parts, pieces, made } of shards) {
    if (memory.sumOf(place, made) !== null) total += plan.movedBytes + plan.cut.sizeBytes;
    else for (const piece of pieces) if (memory.sumOf(parts, piece) !== null) total += piece.length;
  }
  return total;
}

interface Landed {
  fileIndex: number;
  memory: ReceiveMemory;
  patience: Patience;
  counters: ProgressCounters;
  signal: AbortSignal;
}

async function landShard(engine: Engine, landing: Landing, at: Landed): Promise<void> {
  const { plan, place, parts, pieces, made } = landing;
  const { fileIndex, memory, patience, counters, signal } = at;
  const indexOf = new Map(pieces.map((piece, index) => [piece, index]));
  const say: Parameters<typeof receiveFile>[2]["watch"]["onPiece"] = (piece, state) =>
    counters.part({ fileIndex, partIndex: indexOf.get(piece) ?? 0, length: piece.length }, state);
  if (await isMade(landing, memory)) {
    for (const piece of pieces) say(piece, "kept");
  } else {
    await makeHollow(parts, plan.file.sizeBytes);
    await receiveFile(
      engine,
      { path: parts, sizeBytes: plan.file.sizeBytes, pieces },
      { memory, watch: { signal, patience, onMoved: counters.moved, onPiece: say, onRetry: counters.retried } },
    );
    await memory.done(place, made, await writeCut(plan, { parts, place, signal }));
  }
  await removeOwned("restore-part", parts);
  await setDate(place, plan.file.mtimeMs);
  counters.fileDone();
}

/** Returns whether an earlier process finished the file, and it has not changed since. */
async function isMade({ place, made }: Landing, memory: ReceiveMemory): Promise<boolean> {
  const remembered = memory.sumOf(place, made);
  if (remembered === null) return false;
  try {
    const handle = await open(place, constants.O_RDONLY | constants.O_NOFOLLOW);
    try {
      if ((await handle.stat()).size !== made.length) return false;
      const slice = { fd: handle.fd, path: place, offset: 0, length: made.length };
      return (await checksumSlice(slice)) === remembered;
    } finally {
      await handle.close();
    }
  } catch {
    return false;
  }
}

async function makeFolder(path: string): Promise<void> {
  await mkdir(path, { recursive: true }).catch((error: unknown) => {
    throw diskFault(error, { op: "mkdir", subject: path, otherwise: "FOLDER_UNWRITABLE" });
  });
}

/** Creates a sparse file of the original's length, which takes no room, so that receiving into it need not reserve any. */
async function makeHollow(path: string, sizeBytes: number): Promise<void> {
  try {
    const handle = await open(path, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW, 0o600);
    try {
      if ((await handle.stat()).size !== sizeBytes) await handle.truncate(sizeBytes);
    } finally {
      await handle.close();
    }
  } catch (error) {
    throw diskFault(error, { op: "write", subject: path, otherwise: "WRITE_FAILED" });
  }
}

async function writeIndex(
  { file, bytes }: IndexPlan,
  { staging, place }: { staging: string; place: string },
): Promise<void> {
  await makeParents(staging, place);
  await writeSmall([{ place, bytes, mtimeMs: file.mtimeMs }]);
}
