import { placeOf, shownPlace } from "#protocol/checkpoint/place.ts";
import type { Origin, RestoreCommand, RestoreJob } from "./restore-job.ts";
import { access, constants } from "node:fs/promises";
import { dirname, join } from "node:path";
import { isAdopted, type StoredFile, type StoredManifest } from "#protocol/checkpoint/adopted.ts";
import type { CheckpointRole } from "#protocol/checkpoint/checkpoint.ts";
import { Fault, isFault } from "#protocol/faults/fault.ts";
import { forNode } from "#protocol/checkpoint/join-pieces.ts";
import { mayBePickle } from "#protocol/recognition/pickle-files.ts";
import { fileKeyOf } from "#storage/encryption/checkpoint-key.ts";
import { dateOf, giveDatesAndOwner, giveModes, lockFolders } from "./placement/give-attributes.ts";
import { removeOwned } from "../base/disk/change-disk.ts";
import { isThere } from "../base/disk/is-there.ts";
import { diskFault } from "../base/disk-fault.ts";
import type { Engine } from "../transfer/engine.ts";
import { forEachFile } from "../base/for-each.ts";
import { openReceiveJournal, receiveFile, type ReceiveMemory } from "../transfer/download/receive-file.ts";
import type { Piece } from "../transfer/download/piece.ts";
import { sealedAs } from "../transfer/download/sealed-piece.ts";
import { createPatience, type Patience } from "../transfer/store-session/retry.ts";
import { createProgressCounters, type ProgressCounters } from "../transfer/progress/transfer-progress.ts";
import { assertTargetUnused } from "./placement/assert-target-unused.ts";
import { assertReadable, wantedOfTensors } from "./assert-readable.ts";
import { chooseFiles } from "./choose-files.ts";
import { damageOf } from "./damage-of.ts";
import { besideAt, layoutOf, ownFiles } from "./placement/layout.ts";
import { putBeside, splitBeside } from "./placement/put-beside.ts";
import { openMadeFolders, type MadeFolders } from "./placement/make-folders.ts";
import { clearPlaces, mendPlaces, placesOf, putFilesInPlace, putInPlace } from "./placement/put-in-place.ts";
import { setDate } from "../base/disk/set-date.ts";
import { readCheckpoint } from "./read-checkpoint.ts";
import { restorePacked, splitFiles, type SplitFiles } from "./restore-packed.ts";
import { restoreTensors } from "./tensors/restore-tensors.ts";
import { assertRoom } from "../base/room.ts";
import { findImpossible, makeParents, placeUnder, readTarget } from "./placement/safe-place.ts";
import { tellSums } from "./tell-sums.ts";
import { unlock } from "./unlock.ts";

/** Returns the role; a checkpoint of another tool has none. */
const roleOf = (manifest: StoredManifest): CheckpointRole | null =>
  "role" in manifest ? (manifest.role ?? null) : null;

function originOf(whole: StoredManifest, { files, tensors }: RestoreCommand): Origin {
  const wanted = files == null ? whole.files : whole.files.filter(({ path }) => files.includes(path));
  return {
    writerEpoch: whole.writerEpoch,
    node: isAdopted(whole) ? null : whole.node,
    // A restore of tensors writes safetensors files, never pickles.
    pickles: tensors == null ? wanted.filter(({ path }) => mayBePickle(path)).length : 0,
    role: roleOf(whole),
    doubt: isAdopted(whole) ? null : (whole.doubt ?? null),
    siblings: isAdopted(whole) ? [] : (whole.place?.siblings ?? []),
    place: shownPlace.parse(placeOf(whole, isAdopted(whole) ? null : whole.place)),
  };
}

const journalOf = (job: Pick<RestoreJob, "journals" | "command">): string =>
  join(job.journals, `${job.command.transferId}.jsonl`);
const foldersJournalOf = (job: Pick<RestoreJob, "journals" | "command">): string =>
  join(job.journals, `${job.command.transferId}.folders.jsonl`);

/**
 * Restores a checkpoint to a folder: complete and verified byte for byte against its manifest, in one rename, or not at all. A
 * killed restore continues with the pieces it had. A failed or cancelled one leaves the disk as it was.
 *
 * Faults: CHECKPOINT_INCOMPLETE, SEAL_KEY_REFUSED, SEAL_KEY_MISSING, SEAL_BROKEN, NO_SPACE, HOSTILE_NAME, FOLDER_UNWRITABLE,
 * CHECKSUM_MISMATCH, OBJECT_CHANGED, OBJECT_ARCHIVED, OBJECT_BEING_RESTORED, those of the hub and the store, CANCELLED.
 */
export async function restore(engine: Engine, job: RestoreJob): Promise<ProgressCounters> {
  const { command } = job;
  const target = readTarget(command.targetPath);
  const places = placesOf(target, command.transferId);
  // Before anything that may wait: a kill between two renames has left the old folder under another name.
  await mendPlaces(places, job.replaced);
  await job.assertMayPlace?.(target);
  const { clock } = engine.retrier;
  const { manifest: stored, archived } =
    job.manifest === undefined
      ? await readCheckpoint(clock, { ...job, withArchived: true })
      : { manifest: job.manifest, archived: job.archived ?? [] };
  const { manifest: read, key } = await unlock(clock, job, stored);
  const whole = isAdopted(read) ? read : forNode(read, job.member ?? null);
  job.onOrigin?.(originOf(whole, command));
  const folders = await openMadeFolders(foldersJournalOf(job), job.onRefused);
  if (command.tensors != null) {
    assertReadable(wantedOfTensors(whole, command.files ?? null), archived);
    await prepareFolder(target, folders);
    return restoreTensors(engine, job, { whole, key, places, journal: journalOf(job), folders });
  }
  const wanted = chooseFiles(whole, command.isAlone === true ? await filesMissing(whole, target) : command.files);
  const beside = command.files == null && command.isAlone !== true ? besideAt(whole, target) : null;
  assertReadable(beside === null ? withoutBeside(wanted) : wanted, archived);
  await prepareFolder(target, folders);
  const chosen = await leaveOut(job, wanted, dirname(target));
  const manifest = beside === null ? withoutBeside(chosen) : chosen;
  const layout = layoutOf(manifest, target);
  const files = manifest.files.map((file) => ({
    file,
    place: placeUnder(places.staging, file.path),
    ...(key !== null && { fileKey: fileKeyOf(key, file.path) }),
  }));
  if (command.files != null && layout.kind === "folder") await assertTargetUnused(target, manifest.files);
  const counters = createProgressCounters(
    manifest.files.map(({ path, sizeBytes, extents }) => ({ path, sizeBytes, partCount: extents.length })),
    engine.retrier.clock.now,
  );
  job.onStart(counters);
  const sums = new Map<string, string[]>();
  const memory = await openReceiveJournal(journalOf(job));
  try {
    const split = await splitFiles(places.staging, files);
    await assertRoom(dirname(target), manifest.sizeBytes - (await stagedBytes(files, { memory, split })));
    const patience = createPatience(engine.retrier.clock);
    const { staging } = places;
    const isSmall = ([, { file }]: [number, Placed]) => file.extents.length <= 1;
    const alone = [...files.entries()].filter(([index]) => split.alone.has(index));
    await bothEnd(
      restorePacked(engine, split, {
        files,
        staging,
        signal: job.signal,
        patience,
        counters,
        onDamage: (damage) => job.onDamage?.(damage),
      }),
      forEachFile(alone, { isSmall, direction: "down" }, async ([fileIndex, placed]) => {
        const { file, place } = placed;
        await makeParents(staging, place);
        const received = receiveOne(engine, job, { ...placed, fileIndex, memory, patience, counters });
        const found = await received.catch((error: unknown) => {
          const damage = damageOf(error, file);
          if (damage !== null) job.onDamage?.(damage);
          throw error;
        });
        sums.set(file.path, found);
        await setDate(place, file.mtimeMs);
        counters.fileDone();
      }),
    );
    if (job.signal.aborted) throw new Fault("CANCELLED");
    const { onRefused } = job;
    const isAll = command.files == null;
    await giveModes(staging, whole, {
      paths: isAll ? null : new Set(manifest.files.map(({ path }) => path)),
      onRefused,
    });
    if (beside !== null) await splitBeside(places, beside, onRefused);
    const attributes = isAdopted(whole) || layout.kind === "files" ? undefined : whole.attributes;
    await giveDatesAndOwner(staging, { dateMs: dateOf(whole), attributes, onRefused });
    const fingerprint = await job.beforePlaced(staging, target, layout);
    const { transferId } = command;
    if (layout.kind === "folder") await putInPlace(places, job.replaced);
    else await putFilesInPlace(places, { names: layout.names, transferId }, job.replaced);
    if (fingerprint !== undefined)
      await job.afterPlaced?.(target, layout, { checkpointId: command.checkpointId, fingerprint });
    await lockFolders(target, { attributes, onRefused });
    if (beside !== null) await putBeside(places, beside, { transferId, replaced: job.replaced, folders });
    await folders.setDates(dateOf(whole));
  } catch (error) {
    await memory.close();
    throw error;
  }
  await folders.forget();
  await memory.remove();
  await tellSums(
    job,
    whole,
    whole.files.map(({ path }) => sums.get(path) ?? null),
  );
  return counters;
}

/**
 * Returns the manifest without files that the disk cannot name. Faults: HOSTILE_NAME, when leaving out is not allowed or no
 * file is left.
 */
async function leaveOut<M extends Pick<StoredManifest, "files" | "sizeBytes">>(
  job: RestoreJob,
  manifest: M,
  folder: string,
): Promise<M> {
  const paths = manifest.files.map(({ path }) => path);
  const impossible = await findImpossible(folder, paths, job.disk);
  const [first] = impossible;
  if (first === undefined) return manifest;
  const isAll = impossible.length === manifest.files.length;
  if (job.command.mayLeaveOut !== true || isAll)
    throw new Fault("HOSTILE_NAME", { op: "restore", subject: first.path, detail: first.why });
  const out = new Set(impossible.map(({ path }) => path));
  const files = manifest.files.filter(({ path }) => !out.has(path));
  job.onLeftOut?.(impossible);
  return { ...manifest, files, sizeBytes: files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0) };
}

/** Returns the manifest without files beside the checkpoint, which have no other place. */
function withoutBeside<M extends Pick<StoredManifest, "files" | "sizeBytes">>(manifest: M): M {
  const files = ownFiles(manifest.files);
  return { ...manifest, files, sizeBytes: files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0) };
}

/**
 * Returns the files of an older checkpoint that are missing beside a newer one, when it consists of single files. `last.ckpt`
 * belongs to each step that it was written with, and the newer one has it. Null: all files.
 */
async function filesMissing(whole: StoredManifest, target: string): Promise<string[] | null> {
  const layout = layoutOf(whole, target);
  if (layout.kind === "folder") return null;
  const names: string[] = [];
  for (const name of layout.names) if (!(await isThere(join(dirname(target), name)))) names.push(name);
  return names;
}

/** Waits for all works before it throws, so that nothing is written after that. */
async function bothEnd(...works: Promise<void>[]): Promise<void> {
  for (const one of await Promise.allSettled(works)) if (one.status === "rejected") throw one.reason;
}

/** Removes staging folder and journal of a restore that will not continue. */
export async function clearRestore(job: Pick<RestoreJob, "journals" | "command" | "replaced">): Promise<void> {
  await clearPlaces(placesOf(readTarget(job.command.targetPath), job.command.transferId), job.replaced);
  await removeOwned("journal", journalOf(job));
  await removeOwned("journal", foldersJournalOf(job));
}

/** Makes the folder of the target. Faults: FOLDER_UNWRITABLE, NO_SPACE. */
async function prepareFolder(target: string, folders: MadeFolders): Promise<void> {
  const parent = dirname(target);
  try {
    await folders.makeAll(parent);
    await access(parent, constants.W_OK | constants.X_OK);
  } catch (error) {
    const inTheWay = isFault(error) && error.code === "HOSTILE_NAME" ? error.context : null;
    if (inTheWay !== null) throw new Fault("FOLDER_UNWRITABLE", inTheWay);
    throw diskFault(error, { op: "restore", subject: parent, otherwise: "FOLDER_UNWRITABLE" });
  }
}

interface Placed {
  file: StoredFile;
  place: string;
  /** Key of an encrypted file. */
  fileKey?: Buffer;
}

const piecesOf = ({ file, fileKey }: Pick<Placed, "file" | "fileKey">): Piece[] => {
  let fileOffset = 0;
  const sealed = sealedAs(file, fileKey);
  return file.extents.map(({ key, offset, length, crc32, etag }) => {
    const piece: Piece = { key, objectOffset: offset, fileOffset, length, crc32, etag, ...sealed };
    fileOffset += length;
    return piece;
  });
};

/** Returns the bytes that an earlier attempt has on disk. */
async function stagedBytes(
  files: readonly Placed[],
  { memory, split }: { memory: ReceiveMemory; split: SplitFiles },
): Promise<number> {
  let total = 0;
  for (const [index, { file, place, fileKey }] of files.entries()) {
    if (split.staged.has(index)) total += file.sizeBytes;
    for (const piece of piecesOf({ file, ...(fileKey !== undefined && { fileKey }) }))
      if (memory.sumOf(place, piece) !== null) total += piece.length;
  }
  return total;
}

async function receiveOne(
  engine: Engine,
  job: RestoreJob,
  about: Placed & { fileIndex: number; memory: ReceiveMemory; patience: Patience; counters: ProgressCounters },
): Promise<string[]> {
  const { file, place, fileIndex, memory, patience, counters } = about;
  const pieces = piecesOf(about);
  const indexOf = new Map(pieces.map((piece, index) => [piece, index]));
  return receiveFile(
    engine,
    { path: place, sizeBytes: file.sizeBytes, pieces },
    {
      memory,
      watch: {
        signal: job.signal,
        patience,
        onMoved: counters.moved,
        onPiece: (piece, state) =>
          counters.part({ fileIndex, partIndex: indexOf.get(piece) ?? 0, length: piece.length }, state),
        onRetry: counters.retried,
      },
    },
  );
}
