import { dateIn, isTemporaryName } from "./checkpoint-layouts.ts";

/**
 * Reads what a file name says about a checkpoint: its step, or that a saver always uses this name. Sources of the names:
 * Lightning, Composer, stable-baselines3, ultralytics, kohya, Detectron2, timm, nanoGPT, Keras, TensorFlow, XGBoost, llama.cpp.
 */
export interface FileName {
  /** Number in the name; null when there is none. */
  step: number | null;
  /** Kind of the number. A step takes precedence over an epoch; a date counts in seconds since 1970. */
  from: "step" | "epoch" | "date" | "number" | null;
  /** Whether the name itself shows that a saver wrote it (`step`, `ckpt`, `last`). */
  isSaverName: boolean;
}

/** Extensions of formats in which savers write a single file. */
const ENDING =
  /\.(pth\.tar|pt\.tar|ckpt|pt|pth|safetensors|bin|npz|msgpack|zip|pkl|pickle|joblib|gguf|weights\.h5|keras|h5|hdf5|nemo|ubj|params|pdparams|pdopt|json|index|data-\d{5}-of-\d{5}|(?<=ckpt(?:-\d{1,12})?\.)meta)$/i;

/** Extensions of formats that hold a model and little else, so that one such file is a whole checkpoint. */
const MODEL_ENDING =
  /\.(pth\.tar|pt\.tar|ckpt|pt|pth|safetensors|zip|gguf|keras|h5|hdf5|nemo|ubj|msgpack|npz|bin|pkl|joblib|data-\d{5}-of-\d{5})$/i;

/** Names that a saver gives to the newest, the best or the only checkpoint. */
const LABEL = /^(?:[a-z]+[-_.])?(last|latest|best|newest)(?=$|[-_.])|(?:^|[-_.])(last|latest|best)$/i;
const ONLY = /^(ckpt|checkpoint|snapshot|resume|training_state|train_state|trainer_state|model_last|model_best)$/i;

const STEP = /(?:^|[^a-z])(?:global[-_]?)?step[=_-]?(\d{1,12})(?=$|[^0-9])/i;
const STEPS = /(?:^|[^0-9.])(\d{1,12})[-_]?(?:global[-_]?)?steps?(?=$|[^a-z])/i;
const BATCH = /(?:^|[^a-z])(?:ba|it|iter|iters|iteration|iterations)[-_=]?(\d{1,12})(?=$|[^0-9])/i;
const EPOCH = /(?:^|[^a-z])ep(?:och)?s?[-_=]?(\d{1,9})(?=$|[^0-9])|(?:^|[^0-9.])(\d{1,9})[-_]?epochs?(?=$|[^a-z])/i;
const CHECKPOINT = /(?:checkpoint|ckpt)[-_=.]?v?(\d{1,12})(?=$|[^0-9])/i;
/** A number alone between separators, or after the name of a component. `resnet50` and `fp16` contain no step. */
const ALONE =
  /(?:^|[-_.=]|(?:^|[-_.])(?:model|net|weights?|state|snapshot|optim|optimizer|lora|unet|agent|policy|actor|critic|generator|discriminator|gen|disc)[-_]?)(\d{1,12})(?=$|[-_.])/gi;

/** Removes results from a name (`val_loss=0.21`, `acc-0.98`), because their numbers are no steps. */
export const withoutResults = (stem: string): string =>
  stem
    .replaceAll(/(?<![a-z])(?!step|global|epoch|iter|ba\b|ep\b)[a-z][a-z_/]*=-?\d+(\.\d+)?(e-?\d+)?/gi, "")
    .replaceAll(/(?:^|(?<=[^0-9]))-?\d+\.\d+(?=$|[^0-9])/g, "");

/** Parses a file name; null when its extension is not one that savers use. `name` is a single path segment. */
export function readFileName(name: string): FileName | null {
  if (isTemporaryName(name) || !ENDING.test(name)) return null;
  const stem = name.replace(ENDING, "");
  const isLabel = LABEL.test(stem) || ONLY.test(stem);
  const step = STEP.exec(stem)?.[1] ?? STEPS.exec(stem)?.[1] ?? BATCH.exec(stem)?.[1];
  if (step !== undefined) return { step: Number(step), from: "step", isSaverName: true };
  const date = dateIn(stem);
  const epoch = EPOCH.exec(stem);
  if (date !== null && epoch === null)
    return { step: date, from: "date", isSaverName: isLabel || /checkpoint|ckpt/i.test(stem) };
  const count = epoch?.[1] ?? epoch?.[2];
  if (count !== undefined) return { step: Number(count), from: "epoch", isSaverName: true };
  const numbered = CHECKPOINT.exec(stem)?.[1];
  if (numbered !== undefined) return { step: Number(numbered), from: "number", isSaverName: true };
  const alone = [...withoutResults(stem).matchAll(ALONE)].at(-1)?.[1];
  if (alone !== undefined) return { step: Number(alone), from: "number", isSaverName: /checkpoint|ckpt/i.test(stem) };
  return { step: null, from: null, isSaverName: isLabel || /checkpoint|ckpt/i.test(stem) };
}

/** Returns the path that an index of shards means: loaders join it to the folder, so `./a//b` is `a/b`. */
export const shardPath = (named: string): string =>
  named
    .split("/")
    .filter((segment) => segment !== "" && segment !== ".")
    .join("/");

/** Returns whether a single file of this name may be a whole checkpoint. */
export const isModelName = (name: string): boolean => MODEL_ENDING.test(name);

/** Returns whether the name marks the newest or best checkpoint (`last.ckpt`, `best.pt`), which is also saved by step. */
export const isLabelName = (name: string): boolean => LABEL.test(name.replace(ENDING, ""));

/** Number of a process or of a part of a set; it is the same at every step. */
const SHARE =
  /(?:^|[^a-z])(?:(?:mp_|tp_|pp_|dp_|zero_pp_)?ranks?|shard|part|worker|proc(?:ess)?|gpu|device|node|host|tp|pp|dp|mp)[-_]?\d+(?=$|[^0-9])|\d+[-_]of[-_]\d+/gi;

/** Returns the name without its numbers and results, except the number of a process. It distinguishes the files of one step. */
export const partOf = (name: string): string => {
  const stem = withoutResults(name.replace(ENDING, ""));
  const shares = stem.match(SHARE) ?? [];
  const rest = stem.replaceAll(SHARE, "\0").replaceAll(/\d+/g, "#");
  return (
    rest.split("\0").reduce((text, piece, at) => text + (shares[at - 1] ?? "") + piece) + (ENDING.exec(name)?.[0] ?? "")
  );
};
