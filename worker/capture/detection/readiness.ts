import { readdir, readFile, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { shardPath } from "#protocol/recognition/checkpoint-file-names.ts";
import { lastNumber, SEEN, shardOf, type ShardName, TRACKERS } from "#protocol/recognition/checkpoint-layouts.ts";
import { parseJson } from "#storage/inspect/parse-json.ts";
import { isThere } from "#worker/base/disk/is-there.ts";
import type { Candidate } from "./find.ts";
import { findMissingInDcp } from "./read-dcp-metadata.ts";
import { findMissingInOrbax, readCommit } from "./read-orbax.ts";
import type { Look, LookedFile } from "./look.ts";
import { isWhole } from "./whole-file.ts";

/**
 * Verdict of a checkpoint's own files on whether it is finished. `finished`: its framework wrote what it writes last.
 * `unfinished`: something is missing or cut short. Quiet alone must not finish it then, because the program may have been
 * killed in the middle. `unsaid`: nothing in it tells.
 */
export type Readiness =
  | { says: "finished" }
  | { says: "unfinished"; why: string }
  | {
      says: "unsaid";
      /** Whether much time may pass between two of its files. */
      isSlow: boolean;
      /** Whether all that a restart needs is there: training may resume from it once nobody writes any more. */
      isWhole: boolean;
    };

type Judged = Pick<Look, "files">;

/** A framework, recognized by the files it leaves, with its rule for a finished checkpoint. */
interface Framework {
  /** Files that identify the framework. */
  readonly seen: RegExp;
  judge(candidate: Pick<Candidate, "path" | "name" | "step">, look: Judged): Promise<Readiness>;
}

const has = (look: Judged, pattern: RegExp): boolean => look.files.some(({ relative }) => pattern.test(relative));
const UNSAID: Readiness = { says: "unsaid", isSlow: false, isWhole: false };

/** Returns the text of a tracker; null where there is none. Reading a pipe of this name would wait for its writer. */
async function readTracker(path: string): Promise<string | null> {
  try {
    return (await stat(path)).isFile() ? await readFile(path, "utf8") : null;
  } catch {
    return null;
  }
}

/** Judges by the tracker: a file beside the checkpoint that names the newest finished one. */
async function judgeByTracker(
  { path, name, step }: Pick<Candidate, "path" | "name" | "step">,
  tracker: string,
): Promise<Readiness> {
  const text = await readTracker(join(dirname(path), tracker));
  const tag = text?.trim() ?? null;
  const told = tag === null ? null : lastNumber(tag);
  if (tag === name || (told !== null && told >= step)) return { says: "finished" };
  // Some programs do not write the tracker, or write a word. It says nothing then, but much time may pass between two files.
  if (told === null) return { says: "unsaid", isSlow: true, isWhole: false };
  return { says: "unfinished", why: `${tracker} does not name it yet` };
}

/** Judges a Trainer's folder: its state comes after weights and optimizer; small files may follow it. */
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

/** Files that a Trainer writes only where training can continue. */
const TRAINER_REST = /^(trainer_state\.json|optimizer\.(pt|bin)|scheduler\.pt|rng_state(_\d+)?\.pth)$/;

/** Returns whether a person had the Trainer save weights under another name: its arguments are then written last. */
const isSavedModel = (name: string, look: Judged): boolean =>
  !TRAINER_FOLDER.test(name) &&
  has(look, /^training_args\.bin$/) &&
  has(look, /\.(safetensors|bin|pt)$/) &&
  !has(look, TRAINER_REST);

/** Returns which `.metadata` is missing: PyTorch DCP writes it last, in every folder that has data. */
const findMissingMetadata = (look: Judged): string | null => findMissingBeside(look, SEEN.dcp, ".metadata");

/** Returns a sentence when a folder with a matching file lacks this one, or has it empty; null otherwise. */
function findMissingBeside(look: Judged, pattern: RegExp, name: string): string | null {
  const isThere = (path: string) =>
    look.files.some(({ relative, identity }) => relative === path && identity.sizeBytes > 0);
  const folder = foldersOf(look, pattern).find((folder) => !isThere(folder + name));
  return folder === undefined ? null : `${folder}${name} is missing`;
}

/**
 * Judges a checkpoint of Megatron. After a return to an earlier iteration the tracker may name a later one than is being
 * written. The distributed format then still has what its finalize step writes before the tracker: `.metadata`, and
 * `metadata.json` beside `common.pt`.
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
 * The order matters: the last file of the outermost framework decides. Sources: the savers of Megatron-LM
 * (`latest_checkpointed_iteration.txt` in the finalize step), DeepSpeed (`latest`, after the barrier), PyTorch DCP
 * (`.metadata`, renamed into place by the coordinator), transformers' Trainer (`trainer_state.json`, after weights and
 * optimizer), Orbax (`commit_success.txt`; older versions only rename the folder).
 */
const FRAMEWORKS: readonly Framework[] = [
  {
    // A marker on which many tools agree, and which has no other meaning.
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
      // Inside a Trainer's folder the Trainer's own state is written last.
      if (has(look, SEEN.trainer)) return judgeTrainer(look);
      return judgeByTracker(candidate, TRACKERS.deepspeed);
    },
  },
  {
    // Sharded model and optimizer of FSDP: the states of the Trainer and of accelerate come after both.
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
    // `save_model("epoch_3")` writes weights, then arguments, and no state. A folder with the Trainer's own name has a state.
    judge: ({ name }, look) =>
      isSavedModel(name, look) ? Promise.resolve({ ...UNSAID, isWhole: true }) : judgeTrainer(look),
  },
  {
    seen: SEEN.orbax,
    judge: (_, look) => judgeOrbax(look),
  },
];

/**
 * Judges a checkpoint of Orbax, which renames the folder, or writes `commit_success.txt` as the last file; newer versions do
 * both. A commit of inner items is no commit of the whole.
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

/** Returns the folders that have a matching file, as prefixes. */
const foldersOf = (look: Judged, pattern: RegExp): string[] => [
  ...new Set(
    look.files
      .filter(({ relative }) => pattern.test(relative))
      .map(({ relative }) => relative.slice(0, relative.lastIndexOf("/") + 1)),
  ),
];

/** Description that `save_pretrained` of transformers and PEFT writes before the weights. */
const DESCRIPTION = /(^|\/)(adapter_)?config\.json$/;
const IS_TEXT = /\.(json|jsonl|txt|md|jinja|ya?ml)$/i;

const TRAINER_FOLDER = /^checkpoint-\d+$/;
const MOST_SIBLINGS = 32;

/**
 * Returns whether the Trainer wrote the folders beside this one: it then writes this one too, and weights alone are not all.
 */
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
    findMissingOfTensorFlow(look.files) ??
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
  // The weights are whole, and no framework writes a state of training after them.
  if (candidate.role === "final-model") return { says: "unsaid", isSlow: false, isWhole: true };
  for (const framework of FRAMEWORKS) {
    if (has(look, framework.seen)) return framework.judge(candidate, look);
  }
  const described = look.files.find(({ relative }) => DESCRIPTION.test(relative));
  if (described !== undefined && look.files.every(({ relative }) => IS_TEXT.test(relative))) {
    return { says: "unfinished", why: `there are no weights beside ${described.relative} yet` };
  }
  if (described !== undefined && (await hasTrainerBeside(candidate))) return judgeTrainer(look);
  // The formats of these files end with a table of contents. When no other step shows which files belong to one, more may
  // follow.
  if (candidate.kind === "folder" || !isAllWhole) return UNSAID;
  if (candidate.isAwaited === true) return { says: "unsaid", isSlow: true, isWhole: true };
  return candidate.isAlone === true ? { says: "unsaid", isSlow: false, isWhole: true } : { says: "finished" };
}

/**
 * Judges a piece. This node does not know what the other nodes wrote; the hub compares the piece with the names in the
 * metadata. The node that has the metadata of PyTorch DCP wrote it last.
 */
async function judgePiece(look: Judged): Promise<Readiness> {
  for (const file of look.files) {
    if ((await isWhole(file)) === "cut") return { says: "unfinished", why: `${file.relative} is cut short` };
  }
  const hasMetadata = has(look, SEEN.dcp) && findMissingMetadata(look) === null;
  if (hasMetadata && !has(look, SEEN.trainer)) return { says: "finished" };
  return { says: "unsaid", isSlow: true, isWhole: true };
}

/** Returns a sentence that names a missing shard of a set such as `model-00002-of-00003.safetensors`; null: all are there. */
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

/** A file of tensors of TensorFlow: `ckpt-5.data-00000-of-00002`. */
const TENSORFLOW_DATA = /^(.*)\.data-\d{5}-of-(\d{5})$/;

/** Returns a sentence when one checkpoint of TensorFlow lacks a file of tensors, or its index, which is written last. */
function findMissingOfTensorFlow(files: readonly LookedFile[]): string | null {
  const names = new Set(files.map(({ relative }) => relative));
  for (const name of names) {
    const [, stem = "", count = ""] = TENSORFLOW_DATA.exec(name) ?? [];
    if (count === "") continue;
    if (!names.has(`${stem}.index`)) return `${stem}.index is missing`;
    for (let number = 0; number < Number(count); number++) {
      const part = `${stem}.data-${String(number).padStart(5, "0")}-of-${count}`;
      if (!names.has(part)) return `${part} is missing`;
    }
  }
  return null;
}

const MOST_INDEX_BYTES = 32 * 1024 * 1024;

/** Returns a sentence when a file that `*.index.json` lists is missing; null otherwise. */
async function findMissingInIndex(look: Judged): Promise<string | null> {
  const names = new Set(look.files.map(({ relative }) => relative));
  for (const { relative, path, identity } of look.files) {
    if (!relative.endsWith(".index.json") || identity.sizeBytes > MOST_INDEX_BYTES) continue;
    const folder = relative.slice(0, relative.lastIndexOf("/") + 1);
    // The index is from an earlier save in more files: loaders prefer the one whole file.
    if (names.has(relative.slice(0, -".index.json".length))) continue;
    const listed = await readWeightMap(path);
    if (listed === null) return `${relative} cannot be read`;
    const missing = listed.find((name) => !names.has(folder + name));
    if (missing !== undefined) return `${folder}${missing}, named by ${relative}, is missing`;
  }
  return null;
}

/** Returns the files that a Hugging Face index names; null when it is no JSON (it may be half written). */
async function readWeightMap(path: string): Promise<string[] | null> {
  try {
    const parsed: unknown = parseJson(await readFile(path));
    if (typeof parsed !== "object" || parsed === null || !("weight_map" in parsed)) return [];
    const map: unknown = parsed.weight_map;
    if (typeof map !== "object" || map === null) return [];
    const named = (Object.values(map) as unknown[]).filter((name) => typeof name === "string");
    return [...new Set(named.map(shardPath))];
  } catch {
    return null;
  }
}
