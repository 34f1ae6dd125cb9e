import { shardOf, stepOf } from "#protocol/recognition/checkpoint-layouts.ts";

/** The checkpoint that a key belongs to, judged by its name alone. */
export interface Place {
  /** Prefix of all the checkpoint's keys, ending with `/`, or the key of a single file. */
  place: string;
  /** The containing folder: empty, or ending with `/`. */
  run: string;
  kind: "folder" | "file";
  step: number | null;
  /** The key's rest inside the checkpoint. */
  relative: string;
}

/** Names that only checkpoints have. A suffix may mark an unfinished copy (`-tmp-`). */
const STRONG =
  /^(?:checkpoint|ckpt|step|steps|iter|iteration|epoch|global_step|ba|ep)[-_=]?(\d{1,12})(?=$|[-_.=])|^epoch=\d+-step=(\d{1,12})|(?:^|[-_.])(?:global_)?step[=_-]?(\d{1,12})(?=$|[-_.])/i;
/** Numbered folders, as Orbax and others write them. Date-based archives use such names too. */
const DIGITS = /^(\d{1,12})(?=$|\.orbax-checkpoint-tmp)/;
/** Model files in a folder without a step. */
const MODEL_FILE =
  /^((model|adapter_model)\.safetensors|(pytorch_model|adapter_model)\.bin|consolidated\.\d+\.pth|[^/]+\.index\.json|\.metadata|__\d+_\d+\.distcp|trainer_state\.json|training_args\.bin|(optimizer|scheduler|scaler)\.pt|rng_state(_\d+)?\.pth)$/;
/** Files that Orbax writes into a checkpoint folder and below it. */
const ORBAX =
  /^(?:.*?\/)??(?=(?:ocdbt\.process_\d+\/.+|d\/[0-9a-f]{32}|array_metadatas\/process_\d+|_METADATA|_sharding|manifest\.ocdbt|commit_success\.txt|_CHECKPOINT_METADATA)$)/;
const WEIGHTS = /\.(ckpt|pt|pth|safetensors|gguf|npz)$/i;

/** Returns the parent of a folder. */
const above = (folder: string): string => folder.slice(0, folder.slice(0, -1).lastIndexOf("/") + 1);

/** Returns the place of a key; null when the key belongs to no checkpoint. Pure. */
export function placeOf(key: string): Place | null {
  const segments = key.split("/");
  const folders = segments.slice(0, -1);
  for (const pattern of [STRONG, DIGITS]) {
    const at = folders.findIndex((name) => pattern.test(name));
    if (at < 0) continue;
    const match = pattern.exec(folders[at] ?? "");
    const step = Number(match?.slice(1).find((digits) => digits !== undefined));
    return {
      place: `${folders.slice(0, at + 1).join("/")}/`,
      run: folders
        .slice(0, at)
        .map((name) => `${name}/`)
        .join(""),
      kind: "folder",
      step,
      relative: segments.slice(at + 1).join("/"),
    };
  }
  const orbax = ORBAX.exec(key)?.[0];
  if (orbax !== undefined)
    return { place: orbax, run: above(orbax), kind: "folder", step: null, relative: key.slice(orbax.length) };
  const name = segments.at(-1) ?? "";
  const folder = key.slice(0, key.length - name.length);
  if (MODEL_FILE.test(name) || shardOf(name) !== null) {
    return { place: folder, run: above(folder), kind: "folder", step: null, relative: name };
  }
  if (!WEIGHTS.test(name) && stepOf(name, "file") === null) return null;
  return { place: key, run: folder, kind: "file", step: stepOf(name, "file"), relative: name };
}
