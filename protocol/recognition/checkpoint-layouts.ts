/**
 * Names of files and folders that identify frameworks, in a folder or in a bucket, and their meaning. Sources: the savers of
 * Megatron-LM, DeepSpeed, PyTorch DCP, transformers' Trainer, Lightning, Orbax; `huggingface_hub` for shards.
 */

/** Names that frameworks and their tools use until the final rename: `x.tmp`, `x.tmp.17`, `.metadata.tmp`, `-tmp-` of Orbax. */
const TEMPORARY_INSIDE =
  /(^|[-_.])tmp([-_.]|$)|^\.tmp|\.(temp|partial|incomplete)$|\.(ckpt|pt|pth|safetensors|bin|npz|msgpack|distcp|pkl|json)\.part$/i;
const TEMPORARY =
  /^\.|\.(part|lock)$|[-_](temp|partial)$|^(temp|partial)[-_.](checkpoint|ckpt|global_step|step|iter|epoch)|~$/i;
const FILE = /\.(ckpt|pt|pth|safetensors|bin|npz|msgpack)$/i;

/** Returns whether the name of a candidate shows that it is still being written. */
export const isTemporaryName = (name: string): boolean => TEMPORARY.test(name) || TEMPORARY_INSIDE.test(name);

/** Does the same for a name inside a checkpoint, where lock files and editor backups count as ordinary files. */
export const isTemporaryInside = (name: string): boolean => TEMPORARY_INSIDE.test(name);

/** Returns whether NFS renamed a deleted file that a process still has open ("silly rename"); it vanishes with the process. */
export const isLeftByNfs = (name: string): boolean => /^\.nfs[0-9a-f]{16,}$/i.test(name);

const DATE =
  /(?:^|[^0-9])((?:19|20)\d{2})[-_]?([01]\d)[-_]?([0-3]\d)(?:[-_T]?([0-2]\d)[-_:]?([0-5]\d)[-_:]?([0-5]\d))?(?=$|[^0-9])/;

/** Returns the date in a name as seconds since 1970, read as UTC; null without a date. */
export function dateIn(stem: string): number | null {
  const found = DATE.exec(stem);
  if (found === null) return null;
  const [, year, month, day, hour = "0", minute = "0", second = "0"] = found.map((part) => part as string | undefined);
  const ms = Date.UTC(Number(year), Number(month) - 1, Number(day), Number(hour), Number(minute), Number(second));
  return Number.isFinite(ms) && Number(month) >= 1 && Number(month) <= 12 ? Math.floor(ms / 1000) : null;
}

/** Returns the position behind the date in a name; 0 without a date. */
export function endOfDate(stem: string): number {
  const found = DATE.exec(stem);
  return found === null ? 0 : found.index + found[0].length;
}

/** Folders of one start of a training, or of one of several runs: the numbers and times in their names are no steps. */
const START = /^(version|run|exp|experiment|trial|seed|fold|train)[-_]?\d+$|^\d\d[-_:.]\d\d[-_:.]\d\d$/i;
const CALLED = /checkpoint|ckpt|snapshot/i;

/** Returns the training step in a name, for a dated checkpoint the seconds since 1970; null when it names no checkpoint. */
export function stepOf(name: string, kind: "folder" | "file"): number | null {
  if (isTemporaryName(name)) return null;
  if (kind === "file" && !FILE.test(name)) return null;
  const stem = kind === "file" ? name.replace(FILE, "") : name.replace(/\.ckpt$/i, "");
  const step = /(?:^|[-_.])step[=_-]?(\d{1,12})(?=$|[-_.])/i.exec(stem)?.[1];
  if (step !== undefined) return Number(step);
  if (kind === "folder") {
    if (START.test(stem)) return null;
    const date = dateIn(stem);
    // `outputs/2024-01-01` is named after the day on which a training started.
    if (date !== null) return CALLED.test(stem) ? date : null;
  }
  const digits =
    kind === "folder"
      ? /(\d{1,12})$/.exec(stem)?.[1]
      : /(?:checkpoint|ckpt|step|iter(?:ation)?|epoch)[-_=]?(\d{1,12})$/i.exec(stem)?.[1];
  return digits === undefined ? null : Number(digits);
}

/** Returns the number at the end of a tracker file's text; null for a word such as `release`. */
export const lastNumber = (text: string): number | null => {
  const digits = /(\d{1,12})$/.exec(text)?.[1];
  return digits === undefined ? null : Number(digits);
};

/** Formats that are never empty, except a marker file of SageMaker. A rank without tensors leaves an empty `.distcp`. */
export const NEVER_EMPTY = /(?<!(^|\/)user_content)\.(safetensors|pt|pth|ckpt|npz)$/i;

export interface ShardName {
  /** The same for all files of a set. */
  set: string;
  number: number;
  count: number;
  nameOf(shard: number): string;
}

/** Parses `model-00002-of-00003.safetensors`; null for other names. */
export function shardOf(path: string): ShardName | null {
  const [, stem = "", number = "", of = "", end = ""] = /^(.*)-(\d{5})-of-(\d{5})(\.[a-z]+)$/.exec(path) ?? [];
  if (of === "") return null;
  return {
    set: `${stem} ${of} ${end}`,
    number: Number(number),
    count: Number(of),
    nameOf: (shard) => `${stem}-${String(shard).padStart(5, "0")}-of-${of}${end}`,
  };
}

/** Files that identify the framework, relative to the checkpoint. */
export const SEEN = {
  /** Marker of completion that several tools share. */
  done: /(^|\/)(\.complete|COMPLETE|_SUCCESS)$/,
  megatron: /(^|\/)(mp_rank_\d+(_\d+)*\/model_optim_rng\.pt|common\.pt)$/,
  /** Unsharded part of Megatron's distributed format. */
  megatronCommon: /(^|\/)common\.pt$/,
  deepspeed: /(^|\/)(zero_pp_rank_\d+_mp_rank_\d+_\w+|mp_rank_\d+_model_states|bf16_zero_pp_rank_\d+_\w+)\.pt$/,
  fsdp: /^(pytorch_model_fsdp|optimizer)_\d+\/__\d+_\d+\.distcp$/,
  dcp: /(^|\/)__\d+_\d+\.distcp$/,
  trainer: /^(training_args\.bin|trainer_state\.json)$/,
  orbax: /(^|\/)(_CHECKPOINT_METADATA|commit_success\.txt)$/,
  orbaxHalf: /\.orbax-checkpoint-tmp/,
  /** Files that Orbax's index or tree names, and the index itself. */
  orbaxNamed: /(^|\/)(manifest\.ocdbt|d\/[0-9a-f]{32}|\.zarray|zarr\.json)$/,
} as const;

/** Files beside the checkpoints that name the newest finished one. */
export const TRACKERS = { megatron: "latest_checkpointed_iteration.txt", deepspeed: "latest" } as const;
