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
 * Plans what a restore of tensors fetches and writes. The headers are read first, by small ranges that no checksum covers. So
 * the plan decides what is fetched, and the verified bytes are compared with the plan before a file is made.
 */
export interface ShardPlan {
  file: StoredFile;
  /** The bytes before its tensors, as they were read. */
  head: Head;
  cut: Cut;
  pieces: NeededPiece[];
  /** Bytes of the file to transfer. */
  movedBytes: number;
}

export interface Head {
  bytes: number;
  sha256: string;
}

export interface IndexPlan {
  file: StoredFile;
  /** Bytes to write. */
  bytes: Buffer;
  movedBytes: number;
}

export interface TensorPlan {
  shards: ShardPlan[];
  indexes: IndexPlan[];
  tensors: number;
  /** Bytes of the tensors alone. */
  tensorBytes: number;
  movedBytes: number;
  /** Bytes of all files that are written. */
  landedBytes: number;
}

interface Looked {
  file: StoredFile;
  head: Head;
  cut: Cut;
}

export interface PlanWatch extends ReadWatch {
  /** Returns the key of a file, for an encrypted checkpoint. */
  fileKeyOf?(path: string): Buffer;
  /** Called when a file could not be read inside, before the fault is thrown. */
  onWrong(file: StoredFile, error: unknown): void;
}

const LOOKED_AT_A_TIME = 8;

/**
 * Plans the tensors of `files`; null: of all files. When an index says in which shard a tensor lies, no other shard is read.
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
  // In the order of the manifest, not in the order of reading.
  const plans = touched.flatMap((file) => {
    const one = looked.get(file);
    return one === undefined ? [] : [shardPlanOf(one)];
  });
  return sumUp(plans, indexPlans(read, plans));
}

/** Limit of names that are kept for messages. */
const MOST_SEEN = 1_000;

/** Runs `work` and puts the file's name into its Faults. */
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

/**
 * Returns the content of a header. One that looks wrong is verified by its checksum and read again before the file is blamed.
 * This tells damage in the store or a misread from a file that was wrong when stored.
 */
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

/** Returns the head and the cut, from a few ranges. Faults: those of a layout, of the source. */
async function lookInto(
  source: ByteSource,
  fits: (name: string) => boolean,
): Promise<{ head: Head; cut: Cut | null; names: string[] }> {
  const bounded = boundSource(source);
  // Mostly this range holds the whole header; `bounded` keeps it, so no byte is fetched twice.
  if (source.sizeBytes > 0) await bounded.read(0, Math.min(FIRST_READ_BYTES, source.sizeBytes));
  const layout = await readLayout(bounded);
  const { dataAt } = layout;
  // These bytes were read before.
  const [length, json] = [await bounded.read(0, LENGTH_BYTES), await bounded.read(LENGTH_BYTES, dataAt - LENGTH_BYTES)];
  const sha256 = createHash("sha256").update(length).update(json).digest("hex");
  return { head: { bytes: dataAt, sha256 }, cut: cutOut(layout, fits), names: layout.tensors.map(({ name }) => name) };
}

type ReadIndexes = readonly { file: StoredFile; index: ShardIndex }[];

const besideOf = (file: StoredFile, name: string): string => file.path.slice(0, file.path.lastIndexOf("/") + 1) + name;

/** Returns the shards that an index names, and those in which it says that a wanted tensor lies. Faults: NOT_FOUND. */
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

/** Checks that shards hold what an index says; otherwise a wanted tensor would be missed silently. Faults: MALFORMED. */
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
