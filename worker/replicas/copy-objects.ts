import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Extent, Manifest } from "#protocol/checkpoint/checkpoint.ts";
import { Fault } from "#protocol/faults/fault.ts";
import type { NodeStore } from "#protocol/wire/hello.ts";
import { attemptPrefix, dataKey } from "#protocol/checkpoint/keys.ts";
import { filePath, type AttemptId } from "#protocol/base/names.ts";
import { PACK_FOLDER, storedBytes } from "#protocol/checkpoint/packing.ts";
import { planParts, type PartPlan } from "#storage/s3/plan.ts";
import { removeOwned } from "../base/disk/change-disk.ts";
import type { Engine } from "../transfer/engine.ts";
import { forEachOf } from "#protocol/base/for-each-of.ts";
import { readIdentity } from "../base/identity.ts";
import { openReceiveJournal, receiveFile } from "../transfer/download/receive-file.ts";
import type { Piece } from "../transfer/download/piece.ts";
import { createPatience, type Patience } from "../transfer/store-session/retry.ts";
import { openSendJournal, type SendJournal } from "../transfer/upload/send-journal.ts";
import { openFileSource } from "../transfer/upload/send-source.ts";
import { sendFile } from "../transfer/upload/send.ts";
import { createProgressCounters, type ProgressCounters } from "../transfer/progress/transfer-progress.ts";

/**
 * Copies a checkpoint from one bucket to another, object by object. Packs stay packs and frames stay frames, so that the copy
 * matches what was committed. Each object is verified as it is read, kept in a scratch file, sent and removed again. A journal
 * records what was sent, which is not fetched again after a kill.
 */
export interface CopyJob {
  manifest: Manifest;
  /** Target bucket, and the attempt of the copy. */
  store: NodeStore;
  attempt: AttemptId;
  /** Scratch folder of this copy alone. */
  scratch: string;
  journal: string;
  signal: AbortSignal;
  onStart(counters: ProgressCounters): void;
}

interface StoredObject {
  name: string;
  sizeBytes: number;
  isPack: boolean;
  /** In ascending order, without a gap. */
  pieces: Piece[];
}

const AT_A_TIME = 2;

/**
 * Copies all objects and returns the manifest of the copy. Faults: those of reading and of sending, BAD_INPUT where the other
 * store cannot take the same parts, CANCELLED.
 */
export async function copyObjects(engines: { from: Engine; to: Engine }, job: CopyJob): Promise<Manifest> {
  const { manifest, store, attempt, signal } = job;
  const objects = objectsOf(manifest);
  const plans = objects.map((object) => planOf(object, engines.to));
  const { clock } = engines.to.retrier;
  const counters = createProgressCounters(
    objects.map(({ name, sizeBytes }, index) => ({
      path: name,
      sizeBytes,
      partCount: plans[index]?.parts.length ?? 0,
    })),
    clock.now,
  );
  job.onStart(counters);
  await mkdir(job.scratch, { recursive: true });
  const journal = await openSendJournal(job.journal);
  const etags = new Map<string, string>();
  try {
    const patience = createPatience(clock);
    await forEachOf([...objects.entries()], AT_A_TIME, async ([index, object]) => {
      const plan = plans[index];
      if (plan === undefined) return;
      etags.set(object.name, await copyOne(engines, job, { object, index, plan, journal, counters, patience }));
      counters.fileDone();
    });
    if (signal.aborted) throw new Fault("CANCELLED");
  } finally {
    await journal.close();
  }
  const { run, writerEpoch: epoch } = manifest;
  const moved = (extent: Extent): Extent => {
    const name = nameOf(manifest, extent.key);
    const key = dataKey(store.prefix, { run, epoch, attempt, path: filePath.parse(name) });
    return { ...extent, key, etag: etags.get(name) ?? extent.etag };
  };
  return {
    ...manifest,
    attempt,
    homes: [{ profileId: store.profileId, bucket: store.bucket, prefix: store.prefix }],
    files: manifest.files.map((file) => ({ ...file, extents: file.extents.map(moved) })),
  };
}

/** Removes the remains of a copy that will not continue. */
export async function clearCopy(job: Pick<CopyJob, "scratch" | "journal">): Promise<void> {
  await removeOwned("scratch", job.scratch);
  await removeOwned("journal", job.journal);
}

/** Returns the key without the prefix of its bucket and attempt. @throws Fault BAD_INPUT */
function nameOf({ homes, run, writerEpoch: epoch, attempt }: Manifest, key: string): string {
  const own = attemptPrefix(homes[0]?.prefix ?? "", { run, epoch, attempt });
  if (!key.startsWith(own))
    throw new Fault("BAD_INPUT", { op: "copy", subject: key, detail: "it is of another attempt" });
  return key.slice(own.length);
}

function objectsOf(manifest: Manifest): StoredObject[] {
  const byKey = new Map<string, Piece[]>();
  for (const extent of manifest.files.flatMap(({ extents }) => extents)) {
    const { offset, length, crc32 } = storedBytes(extent);
    const { key, etag } = extent;
    const piece: Piece = { key, objectOffset: offset, fileOffset: offset, length, crc32, etag };
    const known = byKey.get(key);
    if (known === undefined) byKey.set(key, [piece]);
    else known.push(piece);
  }
  return [...byKey].map(([key, pieces]) => {
    const name = nameOf(manifest, key);
    const sizeBytes = pieces.reduce((sum, { length }) => sum + length, 0);
    const isPack = name.startsWith(`${PACK_FOLDER}/`);
    return { name, sizeBytes, isPack, pieces: pieces.toSorted((a, b) => a.fileOffset - b.fileOffset) };
  });
}

/** Returns the plan of an object: the parts of its pieces; a pack is one part. @throws Fault BAD_INPUT */
function planOf({ name, sizeBytes, isPack, pieces }: StoredObject, to: Engine): PartPlan {
  const [first] = pieces;
  const isWhole = isPack || pieces.length === 1;
  if (isWhole) return { partBytes: sizeBytes, parts: [{ partNumber: 1, offset: 0, length: sizeBytes }] };
  const plan = planParts({ sizeBytes, traits: to.traits, requestedPartBytes: first?.length ?? sizeBytes });
  const isSame = plan.parts.every(({ offset, length }, at) => {
    const piece = pieces[at];
    return piece?.fileOffset === offset && piece.length === length;
  });
  if (isSame && plan.parts.length === pieces.length) return plan;
  throw new Fault("BAD_INPUT", { op: "copy", subject: name, detail: "the other store takes parts of another size" });
}

async function copyOne(
  { from, to }: { from: Engine; to: Engine },
  job: CopyJob,
  about: {
    object: StoredObject;
    index: number;
    plan: PartPlan;
    journal: SendJournal;
    counters: ProgressCounters;
    patience: Patience;
  },
): Promise<string> {
  const { object, index, plan, journal, counters, patience } = about;
  const { manifest, store, attempt, signal } = job;
  const { name, sizeBytes, isPack, pieces } = object;
  const { run, writerEpoch: epoch } = manifest;
  const key = dataKey(store.prefix, { run, epoch, attempt, path: filePath.parse(name) });
  const path = join(job.scratch, String(index));
  // Identity by source object: the scratch file itself is another one after a kill.
  const source = `${pieces[0]?.key ?? ""} ${pieces[0]?.etag ?? ""}`;
  const identity = { dev: "object", ino: source, sizeBytes, mtimeNs: "0" };
  const { memory, nonce } = await journal.file({ key, identity, partBytes: plan.partBytes });
  if (memory.sentEtag === null) await fetchOne(from, { path, sizeBytes, pieces, patience, signal });
  const onPart = (part: { partNumber: number; length: number }, state: Parameters<ProgressCounters["part"]>[1]) =>
    counters.part({ fileIndex: index, partIndex: part.partNumber - 1, length: part.length }, state);
  const extents = await sendFile(to, {
    path,
    key,
    identity,
    open: async () => openFileSource({ path, identity: await readIdentity(path) }),
    plan,
    nonce,
    memory,
    knownSums: ({ partNumber }) => {
      const crc32 = isPack ? null : (pieces[partNumber - 1]?.crc32 ?? null);
      return crc32 === null ? null : { crc32 };
    },
    watch: { signal, patience, onMoved: counters.moved, onPart, onRetry: counters.retried },
  });
  await removeOwned("scratch", path);
  return extents[0]?.etag ?? "";
}

async function fetchOne(
  from: Engine,
  about: { path: string; sizeBytes: number; pieces: readonly Piece[]; patience: Patience; signal: AbortSignal },
): Promise<void> {
  const { path, sizeBytes, pieces, patience, signal } = about;
  const memory = await openReceiveJournal(`${path}.jsonl`);
  try {
    const watch = {
      signal,
      patience,
      onMoved: () => patience.progressed(),
      onPiece: () => undefined,
      onRetry: () => undefined,
    };
    await receiveFile(from, { path, sizeBytes, pieces }, { memory, watch });
  } catch (error) {
    await memory.close();
    throw error;
  }
  await memory.remove();
}
