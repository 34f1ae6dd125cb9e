import {
  isTemporaryInside,
  NEVER_EMPTY,
  SEEN,
  shardOf,
  type ShardName,
} from "#protocol/recognition/checkpoint-layouts.ts";
import { isArchive } from "../answers/storage-class.ts";

/**
 * What is remembered of one checkpoint while its objects go by: never their names, but for those that decide. Its size does
 * not grow with the number of its objects.
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
  /** The first object that is half written, or empty and must not be. */
  half: string | null;
  empty: string | null;
  /** The first object that lies in an archive, with its class. */
  archived: string | null;
  readonly shards: Map<string, ShardSet>;
  /** Folders that have data of PyTorch DCP, and those of them that have their `.metadata`. */
  readonly dcpData: Set<string>;
  readonly dcpMetadata: Set<string>;
  readonly dcpFiles: Set<string>;
  /** Of Orbax: folders that have to have a `_METADATA`, those that have one, and the files that it may name. */
  readonly orbaxItems: Set<string>;
  readonly orbaxTrees: Set<string>;
  readonly orbaxFiles: Set<string>;
  /** Not all of its files are remembered: what its index names cannot be compared. */
  isOrbaxBlurred: boolean;
  /** Numbers of ranks that each wrote their piece. */
  readonly ranks: Set<number>;
  /** More went by than is remembered: what is missing cannot be told any more. */
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
  // A folder may say of itself that it is still being written.
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

/** Room that all units share, so that a bucket full of odd names cannot fill the memory. */
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

/** One object of the unit; `relative` is its name inside. */
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

/** Hidden files are nobody's half-written ones in a bucket; the other marks of what is still being written count. */
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
