import { isTemporaryInside, SEEN } from "./checkpoint-layouts.ts";

/**
 * Decides whether a folder or a file is a checkpoint. A number at the end of a name proves nothing: `samples_2026`,
 * `tokenizer-32000` and `data_2026` also end in one. The decision combines the name, the content, and the other checkpoints
 * in the same folder.
 */

/**
 * `word`: the name has a word that savers use and a number (`checkpoint-500`, `epoch_3`). `number`: the name is a number
 * (Orbax). `suffix`: any other name that ends in a number.
 */
export type NameEvidence = "word" | "number" | "suffix";

const WORD =
  /(?:^|[^a-z])(?:global_?step|checkpoint|ckpt|step|iter(?:ation)?|epoch)s?[-_=.]?v?\d{1,12}(?=$|[^0-9a-z])|(?:^|[^a-z])(?:checkpoint|ckpt)[-_].*\d$|(?:^|[^0-9])\d{1,12}[-_]?(?:steps?|epochs?)(?=$|[^a-z])|(?:^|[^a-z])(?:ba|ep)\d{1,12}(?=$|[-_.])/i;

/** Returns whether the name contains the word checkpoint. */
export const isCalledCheckpoint = (name: string): boolean => /checkpoint|ckpt/i.test(name);

/** Returns the evidence of the name alone. `name` is a single path segment. */
export function nameEvidenceOf(name: string): NameEvidence {
  if (WORD.test(name)) return "word";
  return /^\d+$/.test(name) ? "number" : "suffix";
}

/**
 * Evidence in the files of a candidate, strongest first. `framework`: files that only a known saver writes. `weights`: at
 * least one file in a format that is used almost only for model weights. `container`: formats for weights or other data.
 * `opaque`: an unknown format. `text`: only text, pictures, sound or logs. `empty`: no file.
 */
export const CONTENT_EVIDENCE = ["framework", "weights", "container", "opaque", "text", "empty"] as const;
export type ContentEvidence = (typeof CONTENT_EVIDENCE)[number];

/** Returns whether only checkpoints use the content's format, which sets an incomplete one apart from other data. */
export const isKnownFormat = (content: ContentEvidence): boolean => content === "framework" || content === "weights";

const FRAMEWORK: readonly RegExp[] = [
  SEEN.megatron,
  SEEN.deepspeed,
  SEEN.dcp,
  SEEN.trainer,
  SEEN.orbax,
  SEEN.orbaxHalf,
  /(^|\/)manifest\.ocdbt$/,
  // Files of `save_state` in accelerate.
  /^(random_states_\d+|custom_checkpoint_\d+)\.pkl$/,
];

/** Weight files of `save_pretrained` in transformers, PEFT and diffusers, with or without shards. */
export const PRETRAINED_WEIGHTS =
  /^(model|pytorch_model|adapter_model|diffusion_pytorch_model|tf_model|flax_model)(\.[a-z0-9_]+)?(-\d{5}-of-\d{5})?\.(safetensors|bin|h5|msgpack)$/;

const WEIGHTS =
  /\.(safetensors|pt|pth|pth\.tar|pt\.tar|ckpt|distcp|gguf|keras|nemo|ubj|pdparams|pdopt|weights\.h5|(?<!(?:^|\/)variables\.)data-\d{5}-of-\d{5})$/i;
const WEIGHTS_IN_BIN =
  /^((pytorch_model|adapter_model|diffusion_pytorch_model|pytorch_lora_weights)(-\d{5}-of-\d{5})?|optimizer(_\d+)?|scheduler(_\d+)?)\.bin$/;
const CONTAINER =
  /\.(npz|npy|pkl|pickle|joblib|msgpack|h5|hdf5|zip|tar|ubj|params|onnx|pb|index|data-\d{5}-of-\d{5})$/i;
const TEXT =
  /\.(json|jsonl|ndjson|txt|md|rst|log|csv|tsv|ya?ml|toml|ini|cfg|conf|xml|html?|jinja|py|ipynb|sh|png|jpe?g|gif|webp|bmp|svg|tiff?|mp4|webm|mov|avi|wav|mp3|flac|ogg|pdf|parquet|arrow|tfrecord|lock|gitignore)$/i;

/** Event files of TensorBoard (`events.out.tfevents.…`), and marker files without an extension (`README`, `_SUCCESS`). */
const LOG_OR_MARK =
  /^(events\.out\.tfevents\..*|readme|license|notice|_success|complete|done|version|makefile|dockerfile)$/i;

const nameOf = (relative: string): string => relative.slice(relative.lastIndexOf("/") + 1);

interface EvidenceFile {
  /** Path below the candidate, `/`-separated. */
  relative: string;
  sizeBytes: number;
}

/**
 * Returns the strongest evidence in the names of the files. For an ambiguous name (`train.bin`), `isTorch` tells whether the
 * first bytes are those of a PyTorch file.
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

/** Returns the evidence of a temporary file: `model.safetensors.tmp` shows that a saver was killed while it wrote weights. */
const evidenceOfTemporary = (name: string): ContentEvidence =>
  /\.(safetensors|pt|pth|ckpt|distcp)[.-]/i.test(name) ? "weights" : "opaque";

/** Returns whether only the first bytes can tell weights from other data. */
export const isAmbiguous = (name: string): boolean => /\.bin$/i.test(name) && !WEIGHTS_IN_BIN.test(name);

/**
 * Returns whether a folder contains checkpoints of its own (`run_1/checkpoint-500/`,
 * `version_0/checkpoints/epoch=5-step=600.ckpt`). The number in its own name is then not a step.
 */
export const holdsCheckpoints = (files: readonly EvidenceFile[]): boolean =>
  files.some(({ relative }) => {
    const segments = relative.split("/");
    return segments.some((segment) => WORD.test(segment) && /\d/.test(segment));
  });

/** Replaces every number in a name with `#`: `llama_100` and `llama_200` belong to one sequence. */
export const sequenceOf = (name: string): string => name.replaceAll(/\d+/g, "#");

export interface CheckpointEvidence {
  name: NameEvidence;
  /** Whether the name contains the word checkpoint (`checkpoint-500`, `ckpt_20`); a folder named after a step may hold logs. */
  isCalledCheckpoint: boolean;
  content: ContentEvidence;
  /** Whether a person named it with `--pattern`. */
  isNamed: boolean;
  /** Whether the files below it are checkpoints of their own. */
  holdsCheckpoints: boolean;
  /** Whether the folder has checkpoints of another sequence whose names use a saver's word. */
  isBesideOthers: boolean;
  /** Whether its newest file was written after this worker began to watch the run, or this worker captured it before. */
  isOfThisRun: boolean;
}

/**
 * Returns why a candidate is no checkpoint; null when it is one. A name with a saver's word needs content other than plain
 * text, and the word "checkpoint" accepts any content. A bare number or another name needs a known format. Such a name must
 * also not lie beside a sequence with saver's words, because its number is then no plausible step of the same run.
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
