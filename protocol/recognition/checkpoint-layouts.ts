/**
 * Names by which frameworks can be told, in a folder or in a bucket, and what these names say. Sources: the savers of
 * Megatron-LM, DeepSpeed, PyTorch DCP, transformers' Trainer, Lightning, Orbax; `huggingface_hub` for shards.
 */

/** What frameworks and their tools write before they rename it: `x.tmp`, `x.tmp.17`, `.metadata.tmp`, `-tmp-` of Orbax. */
const TEMPORARY_INSIDE =
  /(^|[-_.])tmp([-_.]|$)|^\.tmp|\.(temp|partial|incomplete)$|\.(ckpt|pt|pth|safetensors|bin|npz|msgpack|distcp|pkl|json)\.part$/i;
const TEMPORARY =
  /^\.|\.(part|lock)$|[-_](temp|partial)$|^(temp|partial)[-_.](checkpoint|ckpt|global_step|step|iter|epoch)|~$/i;
const FILE = /\.(ckpt|pt|pth|safetensors|bin|npz|msgpack)$/i;

/** Whether the name of what might be a checkpoint says that it is still being written. */
export const isTemporaryName = (name: string): boolean => TEMPORARY.test(name) || TEMPORARY_INSIDE.test(name);

/** The same of a name inside a checkpoint, where a lock file or an editor's copy is a file like any other. */
export const isTemporaryInside = (name: string): boolean => TEMPORARY_INSIDE.test(name);

/** What NFS calls a file that was deleted while a process had it open: it is nobody's, and vanishes with that process. */
export const isLeftByNfs = (name: string): boolean => /^\.nfs[0-9a-f]{16,}$/i.test(name);

const DATE =
  /(?:^|[^0-9])((?:19|20)\d{2})[-_]?([01]\d)[-_]?([0-3]\d)(?:[-_T]?([0-2]\d)[-_:]?([0-5]\d)[-_:]?([0-5]\d))?(?=$|[^0-9])/;

/** Returns the seconds since 1970 of a date in a name, which is read as UTC; null without one. */
export function dateIn(stem: string): number | null {
  const found = DATE.exec(stem);
  if (found === null) return null;
  const [, year, month, day, hour = "0", minute = "0", second = "0"] = found.map((part) => part as string | undefined);
  const ms = Date.UTC(Number(year), Number(month) - 1, Number(day), Number(hour), Number(minute), Number(second));
  return Number.isFinite(ms) && Number(month) >= 1 && Number(month) <= 12 ? Math.floor(ms / 1000) : null;
}

/** Folders of one start of a training, or of one of several: their numbers and times are no steps. */
const START = /^(version|run|exp|experiment|trial|seed|fold|train)[-_]?\d+$|^\d\d[-_:.]\d\d[-_:.]\d\d$/i;
const CALLED = /checkpoint|ckpt|snapshot/i;

/** The training step a name speaks of, or null when it is not a checkpoint's name; of a dated checkpoint the seconds since 1970. */
export function stepOf(name: string, kind: "folder" | "file"): number | null {
  if (isTemporaryName(name)) return null;
  if (kind === "file" && !FILE.test(name)) return null;
  const stem = kind === "file" ? name.replace(FILE, "") : name.replace(/\.ckpt$/i, "");
  const step = /(?:^|[-_.])step[=_-]?(\d{1,12})(?=$|[-_.])/i.exec(stem)?.[1];
  if (step !== undefined) return Number(step);
  if (kind === "folder") {
    if (START.test(stem)) return null;
    const date = dateIn(stem);
    // `outputs/2024-01-01` is a day on which something was started.
    if (date !== null) return CALLED.test(stem) ? date : null;
  }
  const digits =
    kind === "folder"
      ? /(\d{1,12})$/.exec(stem)?.[1]
      : /(?:checkpoint|ckpt|step|iter(?:ation)?|epoch)[-_=]?(\d{1,12})$/i.exec(stem)?.[1];
  return digits === undefined ? null : Number(digits);
}

/** The number a tracker file ends with; null for a word such as `release`. */
export const lastNumber = (text: string): number | null => {
  const digits = /(\d{1,12})$/.exec(text)?.[1];
  return digits === undefined ? null : Number(digits);
};

/** Never empty, but for a mark of SageMaker's. A rank without tensors leaves an empty `.distcp`; `.bin` may be anything. */
export const NEVER_EMPTY = /(?<!(^|\/)user_content)\.(safetensors|pt|pth|ckpt|npz)$/i;

export interface ShardName {
  /** The same for all files of a set. */
  set: string;
  number: number;
  count: number;
  nameOf(shard: number): string;
}

/** `model-00002-of-00003.safetensors`; null for other names. */
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

/** Files that show who writes, relative to the checkpoint. */
export const SEEN = {
  /** By agreement of many: a file that says nothing else. */
  done: /(^|\/)(\.complete|COMPLETE|_SUCCESS)$/,
  megatron: /(^|\/)(mp_rank_\d+(_\d+)*\/model_optim_rng\.pt|common\.pt)$/,
  /** Of its distributed format: what is not sharded. */
  megatronCommon: /(^|\/)common\.pt$/,
  deepspeed: /(^|\/)(zero_pp_rank_\d+_mp_rank_\d+_\w+|mp_rank_\d+_model_states|bf16_zero_pp_rank_\d+_\w+)\.pt$/,
  fsdp: /^(pytorch_model_fsdp|optimizer)_\d+\/__\d+_\d+\.distcp$/,
  dcp: /(^|\/)__\d+_\d+\.distcp$/,
  trainer: /^(training_args\.bin|trainer_state\.json)$/,
  orbax: /(^|\/)(_CHECKPOINT_METADATA|commit_success\.txt)$/,
  orbaxHalf: /\.orbax-checkpoint-tmp/,
  /** Files that its index or its tree names, and the index itself. */
  orbaxNamed: /(^|\/)(manifest\.ocdbt|d\/[0-9a-f]{32}|\.zarray|zarr\.json)$/,
} as const;

/** Files beside the checkpoints that name the newest one that is finished. */
export const TRACKERS = { megatron: "latest_checkpointed_iteration.txt", deepspeed: "latest" } as const;
