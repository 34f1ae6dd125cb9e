import { createHash } from "node:crypto";
import type { StoredFile, StoredManifest } from "#protocol/checkpoint/adopted.ts";
import { Fault, isFault } from "#protocol/faults/fault.ts";
import type { FaultCode } from "#protocol/faults/fault-table.ts";
import { forEachOf } from "#protocol/base/for-each-of.ts";
import { INSPECT_LIMITS } from "#protocol/checkpoint/inspect-limits.ts";
import { storedBytes } from "#protocol/checkpoint/packing.ts";
import { visibleStart } from "#protocol/base/visible-text.ts";
import { parseJson } from "#storage/inspect/parse-json.ts";
import { LENGTH_BYTES } from "#storage/inspect/safetensors-header.ts";
import { boundSource, FIRST_READ_BYTES, type ByteSource } from "#storage/inspect/source.ts";
import { cutIndex, cutOut, neededPieces, readLayout, readShardIndex } from "#storage/tensors/cut-out.ts";
import type { Cut, NeededPiece, ShardIndex } from "#storage/tensors/cut-out.ts";
import { createTensorChooser, tensorFiles } from "#storage/tensors/tensor-files.ts";
import type { Engine } from "#worker/transfer/engine.ts";
import { type KeyedFile, readWhole, sourceOfFile, sumStart, type ReadWatch } from "../file-source.ts";

/**
 * What a restore of tensors fetches and writes. The headers are read by small ranges first, which no checksum covers; so what
 * is planned here decides what is fetched and how much that is, and the verified bytes are held to it before a file is made.
 */
export interface ShardPlan {
  file: StoredFile;
  /** What lies before its tensors, as it came. */
  head: Head;
  cut: Cut;
  pieces: NeededPiece[];
  /** What of the file moves. */
  movedBytes: number;
}

export interface Head {
  bytes: number;
  sha256: string;
}

export interface IndexPlan {
  file: StoredFile;
  /** What is written. */
  bytes: Buffer;
  movedBytes: number;
}

export interface TensorPlan {
  shards: ShardPlan[];
  indexes: IndexPlan[];
  tensors: number;
  /** Of the tensors alone. */
  tensorBytes: number;
  movedBytes: number;
  /** Of all files that are written. */
  landedBytes: number;
}

interface Looked {
  file: StoredFile;
  head: Head;
  cut: Cut;
}

export interface PlanWatch extends ReadWatch {
  /** Of an encrypted checkpoint: the key of a file of it. */
  fileKeyOf?(path: string): Buffer;
  /** A file could not be looked into: said before it is thrown. */
  onWrong(file: StoredFile, error: unknown): void;
}

const LOOKED_AT_A_TIME = 8;

/**
 * `files`: of these; null: of all. Where an index says in which shard a tensor lies, no other shard is touched.
 * Faults: BAD_INPUT, NOT_FOUND, MALFORMED, TOO_MUCH_INSIDE, those of the store, CANCELLED.
 */
export async function planTensors(
  engine: Engine,
  manifest: StoredManifest,
  wanted: { patterns: readonly string[]; files: readonly string[] | null; watch: PlanWatch },
): Promise<TensorPlan> {
  const { watch } = wanted;
  const chooser = createTensorChooser(wanted.patterns);
  const { shards, indexes } = tensorFiles(manifest, wanted.files);
  const read = await readIndexes(engine, indexes, watch);
  const said = shardsSaid(read, { manifest, chooser });
  const touched = shards.filter(({ path }) => !said.named.has(path) || said.touched.has(path));
  const looked = new Map<StoredFile, Looked>();
  const seen: string[] = [];
  await forEachOf(touched, LOOKED_AT_A_TIME, async (file) => {
    const found = await about(file, watch, () => lookTwice(engine, file, { watch, fits: chooser.fits }));
    seen.push(...found.names.slice(0, MOST_SEEN - seen.length));
    if (found.cut !== null) looked.set(file, { file, head: found.head, cut: found.cut });
  });
  for (const { index } of read) seen.push(...index.map.slice(0, MOST_SEEN - seen.length).map(([name]) => name));
  chooser.requireAll(seen);
  requireAsSaid(read, { looked, shards, fits: chooser.fits });
  // In the order of the manifest, whichever was looked at first.
  const plans = touched.flatMap((file) => {
    const one = looked.get(file);
    return one === undefined ? [] : [shardPlanOf(one)];
  });
  return sumUp(plans, indexPlans(read, plans));
}

/** For a sentence that names some of them. */
const MOST_SEEN = 1_000;

/** Faults of a file are about that file. */
async function about<T>(file: StoredFile, watch: PlanWatch, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    watch.onWrong(file, error);
    if (!isFault(error) || error.context.subject !== undefined) throw error;
    throw new Fault(error.code, { ...error.context, op: "restore", subject: file.path, cause: error });
  }
}

async function readIndexes(
  engine: Engine,
  indexes: readonly StoredFile[],
  watch: PlanWatch,
): Promise<{ file: StoredFile; index: ShardIndex }[]> {
  const read: { file: StoredFile; index: ShardIndex }[] = [];
  let bytes = 0;
  for (const file of indexes) {
    bytes += file.sizeBytes;
    if (bytes > INSPECT_LIMITS.readBytes) {
      const detail = `indexes of shards are read up to ${INSPECT_LIMITS.readBytes} bytes`;
      throw new Fault("TOO_MUCH_INSIDE", { op: "restore", subject: file.path, detail });
    }
    const index = await about(file, watch, async () =>
      readShardIndex(parseJson(await readWhole(engine, keyed(file, watch), watch))),
    );
    read.push({ file, index });
  }
  return read;
}

interface Look {
  watch: PlanWatch;
  fits: (name: string) => boolean;
}

const LOOKS_WRONG: readonly FaultCode[] = ["MALFORMED", "TOO_MUCH_INSIDE", "SEAL_BROKEN"];

const keyed = (file: StoredFile, { fileKeyOf }: PlanWatch): KeyedFile =>
  fileKeyOf === undefined ? { file } : { file, fileKey: fileKeyOf(file.path) };

/** What looks wrong is held to its checksum before anybody says so of the file: then it is damaged, or was read wrongly, or is so. */
async function lookTwice(engine: Engine, file: StoredFile, look: Look): ReturnType<typeof lookInto> {
  const source = sourceOfFile(engine, keyed(file, look.watch), look.watch);
  try {
    return await lookInto(source, look.fits);
  } catch (error) {
    if (!isFault(error) || !LOOKS_WRONG.includes(error.code)) throw error;
    await sumStart(engine, file, look.watch);
    return lookInto(source, look.fits);
  }
}

/** The head and what is cut, from a few ranges. Faults: those of a layout, of the source. */
async function lookInto(
  source: ByteSource,
  fits: (name: string) => boolean,
): Promise<{ head: Head; cut: Cut | null; names: string[] }> {
  const bounded = boundSource(source);
  // Mostly that is all of it, and it is not fetched twice.
  if (source.sizeBytes > 0) await bounded.read(0, Math.min(FIRST_READ_BYTES, source.sizeBytes));
  const layout = await readLayout(bounded);
  const { dataAt } = layout;
  // Both were read before.
  const [length, json] = [await bounded.read(0, LENGTH_BYTES), await bounded.read(LENGTH_BYTES, dataAt - LENGTH_BYTES)];
  const sha256 = createHash("sha256").update(length).update(json).digest("hex");
  return { head: { bytes: dataAt, sha256 }, cut: cutOut(layout, fits), names: layout.tensors.map(({ name }) => name) };
}

type ReadIndexes = readonly { file: StoredFile; index: ShardIndex }[];

const besideOf = (file: StoredFile, name: string): string => file.path.slice(0, file.path.lastIndexOf("/") + 1) + name;

/** Shards that an index speaks of, and those of them in which it says that something lies that is wanted. Faults: NOT_FOUND. */
function shardsSaid(
  read: ReadIndexes,
  { manifest, chooser }: { manifest: StoredManifest; chooser: { fits(name: string): boolean } },
): { named: Set<string>; touched: Set<string> } {
  const there = new Set<string>(manifest.files.map(({ path }) => path));
  const named = new Set<string>();
  const touched = new Set<string>();
  for (const { file, index } of read) {
    for (const [name, shard] of index.map) {
      const path = besideOf(file, shard);
      named.add(path);
      if (!chooser.fits(name)) continue;
      if (!there.has(path)) {
        const detail = `${file.path} says that ${visibleStart(name, 100)} lies there, and the checkpoint has no such file`;
        throw new Fault("NOT_FOUND", { op: "restore", subject: visibleStart(path, 200), detail });
      }
      touched.add(path);
    }
  }
  return { named, touched };
}

/** What an index says of a shard that is read has to be so: a tensor that is missed is missed without a word otherwise. Faults: MALFORMED. */
function requireAsSaid(
  read: ReadIndexes,
  about: { looked: ReadonlyMap<StoredFile, Looked>; shards: readonly StoredFile[]; fits: (name: string) => boolean },
): void {
  const { looked, shards, fits } = about;
  const names = new Map(
    shards.map((file) => [file.path as string, new Set(looked.get(file)?.cut.tensors.map(({ name }) => name))]),
  );
  for (const { file, index } of read) {
    for (const [name, shard] of index.map) {
      const path = besideOf(file, shard);
      const has = names.get(path);
      if (has === undefined || has.has(name) || !fits(name)) continue;
      const detail = `it says that ${visibleStart(name, 100)} lies in ${visibleStart(path, 200)}, which has no such tensor`;
      throw new Fault("MALFORMED", { op: "restore", subject: file.path, detail });
    }
  }
}

function shardPlanOf({ file, head, cut }: Looked): ShardPlan {
  const pieces = neededPieces(file.extents, [{ from: 0, length: head.bytes }, ...cut.moves]);
  return { file, head, cut, pieces, movedBytes: pieces.reduce((sum, { length }) => sum + length, 0) };
}

function indexPlans(read: ReadIndexes, shards: readonly ShardPlan[]): IndexPlan[] {
  const sizes = new Map(
    shards.map(({ file, cut }) => [
      file.path as string,
      new Map(cut.tensors.map(({ name, begin, end }) => [name, end - begin])),
    ]),
  );
  return read.flatMap(({ file, index }) => {
    const sizeOf = (name: string, shard: string) => sizes.get(besideOf(file, shard))?.get(name);
    const tensorBytes = index.map.reduce((sum, [name, shard]) => sum + (sizeOf(name, shard) ?? 0), 0);
    const isThere = (name: string, shard: string) => sizeOf(name, shard) !== undefined;
    const bytes = cutIndex(index, { isThere, tensorBytes });
    const movedBytes = file.extents.reduce((sum, extent) => sum + storedBytes(extent).length, 0);
    return bytes === null ? [] : [{ file, bytes, movedBytes }];
  });
}

function sumUp(shards: ShardPlan[], indexes: IndexPlan[]): TensorPlan {
  const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0);
  const all = shards.flatMap(({ cut }) => cut.tensors);
  return {
    shards,
    indexes,
    tensors: all.length,
    tensorBytes: sum(all.map(({ begin, end }) => end - begin)),
    movedBytes: sum([...shards, ...indexes].map(({ movedBytes }) => movedBytes)),
    landedBytes: sum([...shards.map(({ cut }) => cut.sizeBytes), ...indexes.map(({ bytes }) => bytes.length)]),
  };
}
