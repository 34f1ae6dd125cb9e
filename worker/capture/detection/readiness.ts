import { readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { lastNumber, SEEN, shardOf, type ShardName, TRACKERS } from "#protocol/recognition/checkpoint-layouts.ts";
import { parseJson } from "#storage/inspect/parse-json.ts";
import { isThere } from "#worker/base/disk/is-there.ts";
import type { Candidate } from "./find.ts";
import { findMissingInDcp } from "./read-dcp-metadata.ts";
import { findMissingInOrbax, readCommit } from "./read-orbax.ts";
import type { Look, LookedFile } from "./look.ts";
import { isWhole } from "./whole-file.ts";

/**
 * What a checkpoint's own files say of whether it is finished. `finished`: its framework wrote what it writes last.
 * `unfinished`: something is missing or cut short, so that quiet alone must not make it one: the program may have been
 * killed in the middle. `unsaid`: nothing in it tells.
 */
export type Readiness =
  | { says: "finished" }
  | { says: "unfinished"; why: string }
  | {
      says: "unsaid";
      /** Much time may pass between two of its files. */
      isSlow: boolean;
      /** Everything that a restart needs is there: when nobody writes any more, it may be gone on from. */
      isWhole: boolean;
    };

type Judged = Pick<Look, "files">;

/** A framework by the files it leaves, and how it says that it is done. */
interface Framework {
  /** Files that show who writes. */
  readonly seen: RegExp;
  judge(candidate: Pick<Candidate, "path" | "name" | "step">, look: Judged): Promise<Readiness>;
}

const has = (look: Judged, pattern: RegExp): boolean => look.files.some(({ relative }) => pattern.test(relative));
const UNSAID: Readiness = { says: "unsaid", isSlow: false, isWhole: false };

/** A file beside the checkpoint names the newest one that is finished. */
async function judgeByTracker(
  { path, name, step }: Pick<Candidate, "path" | "name" | "step">,
  tracker: string,
): Promise<Readiness> {
  const text = await readFile(join(dirname(path), tracker), "utf8").catch(() => null);
  const tag = text?.trim() ?? null;
  const told = tag === null ? null : lastNumber(tag);
  if (tag === name || (told !== null && told >= step)) return { says: "finished" };
  // Some programs are told not to write it, or write a word: then it says nothing, but much time may pass between two files.
  if (told === null) return { says: "unsaid", isSlow: true, isWhole: false };
  return { says: "unfinished", why: `${tracker} does not name it yet` };
}

/** The Trainer's state comes after weights and optimizer; small files may follow it. */
async function judgeTrainer(look: Judged): Promise<Readiness> {
  const state = look.files.find(({ relative }) => relative === "trainer_state.json");
  if (state === undefined) return { says: "unfinished", why: "trainer_state.json is missing" };
  const bytes = await readFile(state.path).catch(() => Buffer.alloc(0));
  return isJson(bytes)
    ? { says: "unsaid", isSlow: false, isWhole: true }
    : { says: "unfinished", why: "trainer_state.json is cut short" };
}

function isJson(bytes: Buffer): boolean {
  try {
    parseJson(bytes);
    return true;
  } catch {
    return false;
  }
}

/** What a Trainer writes only where training can go on. */
const TRAINER_REST = /^(trainer_state\.json|optimizer\.(pt|bin)|scheduler\.pt|rng_state(_\d+)?\.pth)$/;

/** Weights that a person had the Trainer save under a name of his own: its arguments are what it writes last. */
const isSavedModel = (name: string, look: Judged): boolean =>
  !TRAINER_FOLDER.test(name) &&
  has(look, /^training_args\.bin$/) &&
  has(look, /\.(safetensors|bin|pt)$/) &&
  !has(look, TRAINER_REST);

/** PyTorch DCP writes `.metadata` last, in every folder that has data. */
const findMissingMetadata = (look: Judged): string | null => findMissingBeside(look, SEEN.dcp, ".metadata");

/** Wherever a file matches, this one has to be there too, and not empty. */
function findMissingBeside(look: Judged, pattern: RegExp, name: string): string | null {
  const isThere = (path: string) =>
    look.files.some(({ relative, identity }) => relative === path && identity.sizeBytes > 0);
  const folder = foldersOf(look, pattern).find((folder) => !isThere(folder + name));
  return folder === undefined ? null : `${folder}${name} is missing`;
}

/**
 * After going back to an earlier iteration the tracker may name a later one than is being written. Megatron's distributed
 * format then still has what its finalize step writes before the tracker: `.metadata`, and `metadata.json` beside `common.pt`.
 */
async function judgeMegatron(candidate: Pick<Candidate, "path" | "name" | "step">, look: Judged): Promise<Readiness> {
  const tracked = await judgeByTracker(candidate, TRACKERS.megatron);
  if (tracked.says === "unfinished") return tracked;
  const isDistributed = tracked.says === "finished" || has(look, SEEN.dcp);
  const missing =
    findMissingMetadata(look) ?? (isDistributed ? findMissingBeside(look, SEEN.megatronCommon, "metadata.json") : null);
  return missing === null ? tracked : { says: "unfinished", why: missing };
}

/**
 * In this order: what is written last by the outermost one counts. Sources: the savers of Megatron-LM
 * (`latest_checkpointed_iteration.txt` in the finalize step), DeepSpeed (`latest`, after the barrier), PyTorch DCP
 * (`.metadata`, renamed into place by the coordinator), transformers' Trainer (`trainer_state.json`, after weights and
 * optimizer), Orbax (`commit_success.txt`; older versions only rename the folder).
 */
const FRAMEWORKS: readonly Framework[] = [
  {
    // By agreement of many: a file that says nothing else.
    seen: SEEN.done,
    judge: () => Promise.resolve({ says: "finished" }),
  },
  {
    seen: SEEN.megatron,
    judge: judgeMegatron,
  },
  {
    seen: SEEN.deepspeed,
    judge: async (candidate, look) => {
      // Inside a Trainer's folder its own state is what is written last.
      if (has(look, SEEN.trainer)) return judgeTrainer(look);
      return judgeByTracker(candidate, TRACKERS.deepspeed);
    },
  },
  {
    // Model and optimizer of FSDP, sharded: the Trainer's and accelerate's own states come after both.
    seen: SEEN.fsdp,
    judge: async (_, look) => {
      const missing = findMissingMetadata(look);
      if (missing !== null) return { says: "unfinished", why: missing };
      if (has(look, /^trainer_state\.json$/)) return judgeTrainer(look);
      return { says: "unsaid", isSlow: true, isWhole: false };
    },
  },
  {
    seen: SEEN.dcp,
    judge: (_, look) => {
      const missing = findMissingMetadata(look);
      return Promise.resolve(missing === null ? { says: "finished" } : { says: "unfinished", why: missing });
    },
  },
  {
    seen: SEEN.trainer,
    // `save_model("epoch_3")` writes weights, then its arguments, and no state: a name of the Trainer's own has one.
    judge: ({ name }, look) =>
      isSavedModel(name, look) ? Promise.resolve({ ...UNSAID, isWhole: true }) : judgeTrainer(look),
  },
  {
    seen: SEEN.orbax,
    judge: (_, look) => judgeOrbax(look),
  },
];

/**
 * Orbax renames the folder, or writes `commit_success.txt` as the last file; newer versions do both. What it says of items
 * inside is not said of the whole.
 */
async function judgeOrbax(look: Judged): Promise<Readiness> {
  const half = look.files.find(({ relative }) => SEEN.orbaxHalf.test(relative));
  if (half !== undefined) return { says: "unfinished", why: `${half.relative} is not committed` };
  const isThere = (name: string) => look.files.some(({ relative }) => relative === name);
  for (const file of look.files) {
    if (!/(^|\/)_CHECKPOINT_METADATA$/.test(file.relative)) continue;
    const commit = await readCommit(file);
    if (commit === "cut") return { says: "unfinished", why: `${file.relative} is cut short` };
    const last = file.relative.replace(/_CHECKPOINT_METADATA$/, "commit_success.txt");
    if (commit === "not yet" && !isThere(last)) return { says: "unfinished", why: `${last} is missing` };
  }
  if (isThere("commit_success.txt")) return { says: "finished" };
  const isOne = isThere("_CHECKPOINT_METADATA");
  return { says: "unsaid", isSlow: !isOne, isWhole: isOne };
}

/** Folders in which a file matches, as prefixes. */
const foldersOf = (look: Judged, pattern: RegExp): string[] => [
  ...new Set(
    look.files
      .filter(({ relative }) => pattern.test(relative))
      .map(({ relative }) => relative.slice(0, relative.lastIndexOf("/") + 1)),
  ),
];

/** What `save_pretrained` of transformers and PEFT writes before the weights. */
const DESCRIPTION = /(^|\/)(adapter_)?config\.json$/;
const IS_TEXT = /\.(json|jsonl|txt|md|jinja|ya?ml)$/i;

const TRAINER_FOLDER = /^checkpoint-\d+$/;
const MOST_SIBLINGS = 32;

/** Whether the Trainer wrote the folders beside this one: then it writes this one too, and is not done with weights alone. */
async function hasTrainerBeside({ path, name }: Pick<Candidate, "path" | "name">): Promise<boolean> {
  if (!TRAINER_FOLDER.test(name)) return false;
  const names = await readdir(dirname(path)).catch(() => []);
  const beside = names.filter((other) => other !== name && TRAINER_FOLDER.test(other)).slice(-MOST_SIBLINGS);
  for (const other of beside) {
    if (await isThere(join(dirname(path), other, "trainer_state.json"))) return true;
  }
  return false;
}

/** Judges files that do not change any more. Reads headers and ends of files, never their contents. Never throws. */
export async function readReadiness(
  candidate: Pick<
    Candidate,
    "path" | "name" | "step" | "kind" | "role" | "lacks" | "isAlone" | "isAwaited" | "isPiece"
  >,
  look: Judged,
): Promise<Readiness> {
  if (candidate.isPiece === true && candidate.role === undefined) return judgePiece(look);
  if (candidate.lacks !== undefined) return { says: "unfinished", why: `${candidate.lacks} is missing` };
  const missing =
    findMissingShard(look.files) ??
    (await findMissingInIndex(look)) ??
    (await findMissingInDcp(look.files)) ??
    (await findMissingInOrbax(look.files));
  if (missing !== null) return { says: "unfinished", why: missing };
  let isAllWhole = true;
  for (const file of look.files) {
    const whole = await isWhole(file);
    if (whole === "cut") return { says: "unfinished", why: `${file.relative} is cut short` };
    isAllWhole &&= whole === "whole" && /\.(pt|pth|pth\.tar|ckpt|npz|zip|keras)$/i.test(file.relative);
  }
  // Its weights are whole, and no framework writes a state of training after them.
  if (candidate.role === "final-model") return { says: "unsaid", isSlow: false, isWhole: true };
  for (const framework of FRAMEWORKS) {
    if (has(look, framework.seen)) return framework.judge(candidate, look);
  }
  const described = look.files.find(({ relative }) => DESCRIPTION.test(relative));
  if (described !== undefined && look.files.every(({ relative }) => IS_TEXT.test(relative))) {
    return { says: "unfinished", why: `there are no weights beside ${described.relative} yet` };
  }
  if (described !== undefined && (await hasTrainerBeside(candidate))) return judgeTrainer(look);
  // Files whose format ends with its table of contents. Where no other step shows what belongs to one, more may follow.
  if (candidate.kind === "folder" || !isAllWhole) return UNSAID;
  if (candidate.isAwaited === true) return { says: "unsaid", isSlow: true, isWhole: true };
  return candidate.isAlone === true ? { says: "unsaid", isSlow: false, isWhole: true } : { says: "finished" };
}

/**
 * Of a piece nobody on this node knows what the others wrote. The hub compares it with what the metadata names. The node that
 * has the metadata of PyTorch DCP wrote it last.
 */
async function judgePiece(look: Judged): Promise<Readiness> {
  for (const file of look.files) {
    if ((await isWhole(file)) === "cut") return { says: "unfinished", why: `${file.relative} is cut short` };
  }
  const hasMetadata = has(look, SEEN.dcp) && findMissingMetadata(look) === null;
  if (hasMetadata && !has(look, SEEN.trainer)) return { says: "finished" };
  return { says: "unsaid", isSlow: true, isWhole: true };
}

/** `model-00002-of-00003.safetensors`: all of them, or a sentence that names one that is not there. */
function findMissingShard(files: readonly LookedFile[]): string | null {
  const sets = new Map<string, { shard: ShardName; seen: Set<number> }>();
  for (const { relative } of files) {
    const shard = shardOf(relative);
    if (shard === null) continue;
    const set = sets.get(shard.set) ?? { shard, seen: new Set() };
    set.seen.add(shard.number);
    sets.set(shard.set, set);
  }
  for (const { shard, seen } of sets.values()) {
    for (let number = 1; number <= shard.count && seen.size < shard.count; number++) {
      if (!seen.has(number)) return `${shard.nameOf(number)} is missing`;
    }
  }
  return null;
}

const MOST_INDEX_BYTES = 32 * 1024 * 1024;

/** What `*.index.json` lists has to be there. */
async function findMissingInIndex(look: Judged): Promise<string | null> {
  const names = new Set(look.files.map(({ relative }) => relative));
  for (const { relative, path, identity } of look.files) {
    if (!relative.endsWith(".index.json") || identity.sizeBytes > MOST_INDEX_BYTES) continue;
    const folder = relative.slice(0, relative.lastIndexOf("/") + 1);
    // Of an earlier save in more files: loaders take the one whole file before its index.
    if (names.has(relative.slice(0, -".index.json".length))) continue;
    const listed = await readWeightMap(path);
    if (listed === null) return `${relative} cannot be read`;
    const missing = listed.find((name) => !names.has(folder + name));
    if (missing !== undefined) return `${folder}${missing}, named by ${relative}, is missing`;
  }
  return null;
}

/** Files that a Hugging Face index names; null when it is no JSON (it may be half written). */
async function readWeightMap(path: string): Promise<string[] | null> {
  try {
    const parsed: unknown = parseJson(await readFile(path));
    if (typeof parsed !== "object" || parsed === null || !("weight_map" in parsed)) return [];
    const map: unknown = parsed.weight_map;
    if (typeof map !== "object" || map === null) return [];
    return [...new Set((Object.values(map) as unknown[]).filter((name) => typeof name === "string"))];
  } catch {
    return null;
  }
}
