import { isTemporaryInside, SEEN } from "./checkpoint-layouts.ts";

/**
 * Decides whether a folder or a file is a checkpoint. A number at the end of a name is no proof: `samples_2026`,
 * `tokenizer-32000` and `data_2026` end in one too. Three things count together: the name, the content, and the other
 * checkpoints of the same folder.
 */

/**
 * `word`: the name has a word that savers use and a number (`checkpoint-500`, `epoch_3`). `number`: the name is a number
 * (Orbax). `suffix`: any other name that ends in a number.
 */
export type NameEvidence = "word" | "number" | "suffix";

const WORD =
  /(?:^|[^a-z])(?:global_?step|checkpoint|ckpt|step|iter(?:ation)?|epoch)s?[-_=.]?v?\d{1,12}(?=$|[^0-9a-z])|(?:^|[^a-z])(?:checkpoint|ckpt)[-_].*\d$|(?:^|[^0-9])\d{1,12}[-_]?(?:steps?|epochs?)(?=$|[^a-z])|(?:^|[^a-z])(?:ba|ep)\d{1,12}(?=$|[-_.])/i;

/** Whether the name calls it a checkpoint. */
export const isCalledCheckpoint = (name: string): boolean => /checkpoint|ckpt/i.test(name);

/** Returns what the name alone says. `name` is a single path segment. */
export function nameEvidenceOf(name: string): NameEvidence {
  if (WORD.test(name)) return "word";
  return /^\d+$/.test(name) ? "number" : "suffix";
}

/**
 * What the files of a candidate show, strongest first. `framework`: files that only a known saver writes. `weights`: at
 * least one file in a format that holds model weights and little else. `container`: formats that hold weights or data.
 * `opaque`: bytes of an unknown format. `text`: text, pictures, sound or logs only. `empty`: no file.
 */
export const CONTENT_EVIDENCE = ["framework", "weights", "container", "opaque", "text", "empty"] as const;
export type ContentEvidence = (typeof CONTENT_EVIDENCE)[number];

/** The format of these names is known, so a torn one can be told from data of the same name. */
export const isKnownFormat = (content: ContentEvidence): boolean => content === "framework" || content === "weights";

const FRAMEWORK: readonly RegExp[] = [
  SEEN.megatron,
  SEEN.deepspeed,
  SEEN.dcp,
  SEEN.trainer,
  SEEN.orbax,
  SEEN.orbaxHalf,
  /(^|\/)manifest\.ocdbt$/,
  // accelerate's `save_state`.
  /^(random_states_\d+|custom_checkpoint_\d+)\.pkl$/,
];

/** Weights of `save_pretrained` in transformers, PEFT and diffusers, also as shards. */
export const PRETRAINED_WEIGHTS =
  /^(model|pytorch_model|adapter_model|diffusion_pytorch_model|tf_model|flax_model)(\.[a-z0-9_]+)?(-\d{5}-of-\d{5})?\.(safetensors|bin|h5|msgpack)$/;

const WEIGHTS = /\.(safetensors|pt|pth|pth\.tar|pt\.tar|ckpt|distcp|gguf|keras|nemo|ubj|pdparams|pdopt|weights\.h5)$/i;
const WEIGHTS_IN_BIN =
  /^((pytorch_model|adapter_model|diffusion_pytorch_model|pytorch_lora_weights)(-\d{5}-of-\d{5})?|optimizer(_\d+)?|scheduler(_\d+)?)\.bin$/;
const CONTAINER =
  /\.(npz|npy|pkl|pickle|joblib|msgpack|h5|hdf5|zip|tar|ubj|params|onnx|pb|index|data-\d{5}-of-\d{5})$/i;
const TEXT =
  /\.(json|jsonl|ndjson|txt|md|rst|log|csv|tsv|ya?ml|toml|ini|cfg|conf|xml|html?|jinja|py|ipynb|sh|png|jpe?g|gif|webp|bmp|svg|tiff?|mp4|webm|mov|avi|wav|mp3|flac|ogg|pdf|parquet|arrow|tfrecord|lock|gitignore)$/i;

/** `events.out.tfevents.…` of TensorBoard, and marks without an ending (`README`, `_SUCCESS`). */
const LOG_OR_MARK =
  /^(events\.out\.tfevents\..*|readme|license|notice|_success|complete|done|version|makefile|dockerfile)$/i;

const nameOf = (relative: string): string => relative.slice(relative.lastIndexOf("/") + 1);

interface EvidenceFile {
  /** Below the candidate, `/`-separated. */
  relative: string;
  sizeBytes: number;
}

/**
 * Returns the strongest evidence of the files by their names. `isTorch` says of a file whose name leaves it open
 * (`train.bin`) whether its first bytes are those of a PyTorch file.
 */
export function contentEvidenceOf(
  files: readonly EvidenceFile[],
  isTorch: (file: EvidenceFile) => boolean = () => false,
): ContentEvidence {
  let best = CONTENT_EVIDENCE.indexOf("empty");
  for (const file of files) best = Math.min(best, CONTENT_EVIDENCE.indexOf(evidenceOf(file, isTorch)));
  return CONTENT_EVIDENCE[best] ?? "empty";
}

/** Returns whether only a known saver writes a file of this name. */
export const isFrameworkFile = (name: string): boolean => FRAMEWORK.some((pattern) => pattern.test(name));

/** Returns whether a file of this name holds weights. */
export const isWeightsName = (name: string): boolean =>
  WEIGHTS.test(name) || WEIGHTS_IN_BIN.test(name) || PRETRAINED_WEIGHTS.test(name);

function evidenceOf(file: EvidenceFile, isTorch: (file: EvidenceFile) => boolean): ContentEvidence {
  const { relative } = file;
  const name = nameOf(relative);
  if (isFrameworkFile(relative)) return "framework";
  if (isTemporaryInside(name)) return evidenceOfTemporary(name);
  if (isWeightsName(name)) return "weights";
  if (isAmbiguous(name)) return isTorch(file) ? "weights" : "opaque";
  if (CONTAINER.test(name)) return "container";
  return TEXT.test(name) || LOG_OR_MARK.test(name) ? "text" : "opaque";
}

/** `model.safetensors.tmp` shows who was writing when the program was killed. */
const evidenceOfTemporary = (name: string): ContentEvidence =>
  /\.(safetensors|pt|pth|ckpt|distcp)[.-]/i.test(name) ? "weights" : "opaque";

/** Only the first bytes tell weights from other data. */
export const isAmbiguous = (name: string): boolean => /\.bin$/i.test(name) && !WEIGHTS_IN_BIN.test(name);

/**
 * Returns whether a folder holds checkpoints of its own (`run_1/checkpoint-500/`, `version_0/checkpoints/epoch=5-step=600.ckpt`),
 * so that the number in its name is no step.
 */
export const holdsCheckpoints = (files: readonly EvidenceFile[]): boolean =>
  files.some(({ relative }) => {
    const segments = relative.split("/");
    return segments.some((segment) => WORD.test(segment) && /\d/.test(segment));
  });

/** The name with every number taken out: `llama_100` and `llama_200` are one sequence. */
export const sequenceOf = (name: string): string => name.replaceAll(/\d+/g, "#");

export interface CheckpointEvidence {
  name: NameEvidence;
  /** The name calls it a checkpoint (`checkpoint-500`, `ckpt_20`); a step or an epoch may be a folder of logs. */
  isCalledCheckpoint: boolean;
  content: ContentEvidence;
  /** A person named it by `--pattern`. */
  isNamed: boolean;
  /** The files below it are checkpoints of their own. */
  holdsCheckpoints: boolean;
  /** The folder has checkpoints whose names use a saver's word, in another sequence than this one. */
  isBesideOthers: boolean;
  /** Its newest file was written after this worker began to watch the run, or this worker has captured it before. */
  isOfThisRun: boolean;
}

/**
 * Returns why a candidate is no checkpoint; null when it is one. A name with a saver's word needs any content that is not
 * plain text, and any at all when the word is "checkpoint". A bare number or another name needs a known format, and must not stand beside a sequence with such words:
 * its number would not be plausible as a step of the same run.
 */
export function whyNoCheckpoint(evidence: CheckpointEvidence): string | null {
  const { name, content, isNamed } = evidence;
  if (content === "empty") return "it is empty";
  if (isNamed) return null;
  if (name === "word")
    return content === "text" && !evidence.isCalledCheckpoint ? "it holds no file in a checkpoint format" : null;
  if (!isKnownFormat(content)) return "it holds no file in a checkpoint format";
  if (evidence.holdsCheckpoints) return "it holds checkpoints of its own";
  if (evidence.isBesideOthers) return "its number is not plausible as a step beside the checkpoints in this folder";
  if (name === "number" || content === "framework" || evidence.isOfThisRun) return null;
  return "it was there before this run was watched, and its name does not say that it is a checkpoint";
}
