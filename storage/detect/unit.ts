import {
  isTemporaryInside,
  NEVER_EMPTY,
  SEEN,
  shardOf,
  type ShardName,
} from "#protocol/recognition/checkpoint-layouts.ts";
import { isArchive } from "../answers/storage-class.ts";

/**
 * State kept for one checkpoint while its objects are listed. Only names that affect the verdict are stored, within
 * limits, so the size does not grow with the number of objects.
 */
export interface Unit {
  readonly place: string;
  readonly run: string;
  readonly kind: "folder" | "file";
  readonly step: number | null;
  files: number;
  sizeBytes: number;
  newestAt: number;
  readonly has: Set<Trait>;
  /** The first unfinished object, and the first that is empty although its format forbids that. */
  half: string | null;
  empty: string | null;
  /** The first archived object, with its storage class. */
  archived: string | null;
  readonly shards: Map<string, ShardSet>;
  /** Folders with data of PyTorch DCP (`dcpData`), and folders with its `.metadata` (`dcpMetadata`). */
  readonly dcpData: Set<string>;
  readonly dcpMetadata: Set<string>;
  readonly dcpFiles: Set<string>;
  /** Orbax folders that need a `_METADATA`, folders that have one, and data files that one may name. */
  readonly orbaxItems: Set<string>;
  readonly orbaxTrees: Set<string>;
  readonly orbaxFiles: Set<string>;
  /** Not all Orbax files were stored, so they cannot be compared with the index. */
  isOrbaxBlurred: boolean;
  /** Ranks that wrote their own file. */
  readonly ranks: Set<number>;
  /** A limit was reached, so missing files can no longer be detected. */
  isBlurred: boolean;
}

export type Trait =
  | "done"
  | "trainer"
  | "trainerState"
  | "weights"
  | "optimizer"
  | "index"
  | "megatron"
  | "megatronMetadata"
  | "deepspeed"
  | "dcp"
  | "orbax"
  | "orbaxDone"
  | "orbaxStep"
  | "orbaxData"
  | "lightning"
  | "accelerate";

interface ShardSet {
  readonly shard: ShardName;
  readonly seen: Uint8Array;
  count: number;
}

const MOST_SETS = 16;
const MOST_FOLDERS = 64;
const MOST_DCP_FILES = 4_096;
const MOST_ORBAX_FILES = 16_384;
const MOST_RANKS = 65_536;

export const createUnit = (about: Pick<Unit, "place" | "run" | "kind" | "step">): Unit => ({
  ...about,
  files: 0,
  sizeBytes: 0,
  newestAt: 0,
  has: new Set(),
  // The folder's name may mark it as unfinished.
  half: about.kind === "folder" ? halfNameOf(about.place) : null,
  empty: null,
  archived: null,
  shards: new Map(),
  dcpData: new Set(),
  dcpMetadata: new Set(),
  dcpFiles: new Set(),
  orbaxItems: new Set(),
  orbaxTrees: new Set(),
  orbaxFiles: new Set(),
  isOrbaxBlurred: false,
  ranks: new Set(),
  isBlurred: false,
});

function halfNameOf(place: string): string | null {
  const name = place.split("/").at(-2) ?? "";
  return isHalfName(name) ? name : null;
}

/** Memory budget shared by all units, so that a bucket full of odd names cannot exhaust the memory. */
export interface Room {
  shardBytes: number;
  names: number;
}

const TRAITS: readonly (readonly [Trait, RegExp])[] = [
  ["done", SEEN.done],
  ["trainer", SEEN.trainer],
  ["trainerState", /^trainer_state\.json$/],
  ["weights", /(^|\/)((model|adapter_model)\.safetensors|(pytorch_model|adapter_model)\.bin|consolidated\.\d+\.pth)$/],
  ["optimizer", /(^|\/)(optimizer(_\d+)?\.(pt|bin)|optimizer_\d+\/)/],
  ["index", /(^|\/)[^/]+\.index\.json$/],
  ["megatron", SEEN.megatron],
  ["megatronMetadata", /^metadata\.json$/],
  ["deepspeed", SEEN.deepspeed],
  ["dcp", SEEN.dcp],
  ["orbax", SEEN.orbax],
  ["orbaxDone", /^commit_success\.txt$/],
  ["orbaxStep", /^_CHECKPOINT_METADATA$/],
  ["orbaxData", /(^|\/)(_METADATA|_sharding|manifest\.ocdbt|ocdbt\.process_\d+\/)/],
  ["lightning", /^epoch=\d+-step=\d+/],
  ["accelerate", /^random_states_\d+\.pkl$/],
];

/** Adds one object to the unit; `relative` is its name inside the checkpoint. */
export function addToUnit(
  unit: Unit,
  object: { relative: string; sizeBytes: number; modifiedAt: number; storageClass: string | null },
  room: Room,
): void {
  const { relative, sizeBytes, modifiedAt, storageClass } = object;
  if (isArchive(storageClass)) unit.archived ??= `${relative.slice(0, 256)} is archived (${storageClass})`;
  unit.files++;
  unit.sizeBytes += sizeBytes;
  unit.newestAt = Math.max(unit.newestAt, modifiedAt);
  const segments = relative.split("/");
  const isOwnDot = segments.at(-1) === ".metadata" || segments.at(-1) === ".complete";
  if (SEEN.orbaxHalf.test(relative) || (!isOwnDot && segments.some((one) => isHalfName(one))))
    unit.half ??= relative.slice(0, 256);
  if (sizeBytes === 0 && NEVER_EMPTY.test(relative)) unit.empty ??= relative.slice(0, 256);
  for (const [trait, pattern] of TRAITS) if (pattern.test(relative)) unit.has.add(trait);
  addShard(unit, relative, room);
  addDcp(unit, { relative, sizeBytes }, room);
  addOrbax(unit, { relative, sizeBytes }, room);
  const rank = /(?:zero_pp_rank_|mp_rank_)(\d{1,5})/.exec(relative)?.[1];
  if (rank !== undefined) {
    if (room.names > 0 && unit.ranks.size < MOST_RANKS) {
      if (!unit.ranks.has(Number(rank))) room.names--;
      unit.ranks.add(Number(rank));
    } else unit.isBlurred = true;
  }
}

/** Returns whether a name marks an unfinished file. Unlike other temporary marks, a leading dot proves nothing in a bucket. */
const isHalfName = (name: string): boolean => !name.startsWith(".") && isTemporaryInside(name);

function addShard(unit: Unit, relative: string, room: Room): void {
  const shard = shardOf(relative);
  if (shard === null || shard.count === 0) return;
  let set = unit.shards.get(shard.set);
  if (set === undefined) {
    const bytes = Math.ceil((shard.count + 1) / 8);
    if (unit.shards.size >= MOST_SETS || bytes > room.shardBytes) {
      unit.isBlurred = true;
      return;
    }
    room.shardBytes -= bytes;
    set = { shard, seen: new Uint8Array(bytes), count: 0 };
    unit.shards.set(shard.set, set);
  }
  if (shard.number < 1 || shard.number > shard.count || hasShard(set, shard.number)) return;
  set.seen[shard.number >> 3] = (set.seen[shard.number >> 3] ?? 0) | (1 << (shard.number & 7));
  set.count++;
}

export const hasShard = ({ seen }: Pick<ShardSet, "seen">, number: number): boolean =>
  ((seen[number >> 3] ?? 0) & (1 << (number & 7))) !== 0;

function addDcp(unit: Unit, object: { relative: string; sizeBytes: number }, room: Room): void {
  const { relative, sizeBytes } = object;
  const folder = relative.slice(0, relative.lastIndexOf("/") + 1);
  if (SEEN.dcp.test(relative)) {
    if (unit.dcpData.size < MOST_FOLDERS) unit.dcpData.add(folder);
    if (unit.dcpFiles.size < MOST_DCP_FILES && room.names > 0) {
      room.names--;
      unit.dcpFiles.add(relative);
    } else unit.isBlurred = true;
  }
  if (/(^|\/)\.metadata$/.test(relative) && sizeBytes > 0 && unit.dcpMetadata.size < MOST_FOLDERS)
    unit.dcpMetadata.add(folder);
}

function addOrbax(unit: Unit, object: { relative: string; sizeBytes: number }, room: Room): void {
  const { relative, sizeBytes } = object;
  const item = /^(.*\/)?(?:_sharding|array_metadatas\/process_\d+)$/.exec(relative);
  const tree = /^(.*\/)?_METADATA$/.exec(relative);
  if (item !== null && unit.orbaxItems.size < MOST_FOLDERS) unit.orbaxItems.add(item[1] ?? "");
  if (tree !== null && sizeBytes > 0) {
    if (unit.orbaxTrees.size < MOST_FOLDERS) unit.orbaxTrees.add(tree[1] ?? "");
    else unit.isOrbaxBlurred = true;
  }
  if (!SEEN.orbaxNamed.test(relative)) return;
  if (unit.orbaxFiles.size < MOST_ORBAX_FILES && room.names > 0) {
    room.names--;
    unit.orbaxFiles.add(relative);
  } else unit.isOrbaxBlurred = true;
}
