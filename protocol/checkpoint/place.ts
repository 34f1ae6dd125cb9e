import * as z from "zod";
import { readFileName } from "../recognition/checkpoint-file-names.ts";
import { isTemporaryName } from "../recognition/checkpoint-layouts.ts";
import { filePath } from "../base/names.ts";

/**
 * Place of a checkpoint in the watched folder of its run. A restore puts the checkpoint back under the same path, a single
 * file as a file.
 */

/** `folder`: one folder. `file`: one file. `files`: several files in a folder that may hold other files. */
const placeKind = z.enum(["folder", "file", "files"]);

/**
 * Origin of a step: the `name`, `inside` a file, or `said` by the caller of `tidemark save`. `time`: no step is known, and the
 * time of writing in seconds since 1970 stands for it. Such a step cannot be compared with steps of training.
 */
export const stepSource = z.enum(["name", "inside", "time", "said"]);
export type StepSource = z.infer<typeof stepSource>;

/** Largest number of files beside a checkpoint that are kept with it. */
export const MOST_BESIDE = 16;

/** Largest number of other checkpoints that are listed with one. */
export const MOST_SIBLINGS = 16;

/** Files of the run that lie beside a checkpoint: `latest`, `config.yaml`, a link `last.ckpt`. */
export const besideFile = z.union([
  /** `file`: its path among the files of the manifest. */
  z.object({ path: filePath, file: filePath }),
  /** `link`: target of the symbolic link, below the watched folder. */
  z.object({ path: filePath, link: filePath }),
]);
export type BesideFile = z.infer<typeof besideFile>;

/** One of several watched folders of a run: its position, from 0, and its name. */
const watchedRoot = z.object({ index: z.number().int().min(0).max(63), name: z.string().min(1).max(255) });
export type WatchedRoot = z.infer<typeof watchedRoot>;

export const checkpointPlace = z.object({
  /** Absent: the run has one watched folder, or an older worker wrote it. */
  root: watchedRoot.optional(),
  /** Path below the watched folder, `/`-separated; for several files the path of the first. */
  path: filePath,
  kind: placeKind,
  /** The origin for workers and hubs that know only these two; absent: the name contains the step. */
  stepFrom: stepSource.extract(["inside", "time"]).optional(),
  /** Origin of the step; absent in records of older workers. */
  stepSource: stepSource.optional(),
  beside: z.array(besideFile).max(MOST_BESIDE).optional(),
  /** Names of other checkpoints in the folder at capture, newest first, for frameworks that compare all of them (Orbax). */
  siblings: z.array(z.string().min(1).max(255)).max(MOST_SIBLINGS).optional(),
});
export type CheckpointPlace = z.infer<typeof checkpointPlace>;

/** The place as pages show it and clients request it: without the files beside it. */
export const shownPlace = checkpointPlace.omit({ beside: true, siblings: true });
export type ShownPlace = z.infer<typeof shownPlace>;

/** Folder in the manifest for files that lie beside the checkpoint. No program uses this name. */
export const BESIDE_FOLDER = ".tidemark-beside";

/** Files that name the newest checkpoint: DeepSpeed, Megatron, TensorFlow, Detectron2. */
const POINTER = /^(latest|latest_checkpointed_iteration\.txt|checkpoint|latest_checkpoint\.txt|last_checkpoint)$/;
const SETTINGS = /\.(json|ya?ml|toml|ini|cfg|txt|model|jinja)$/i;
/** Logs and results grow with the run and belong to no step. */
const LOG =
  /(^|[-_.])(log|logs|metrics|results|history|events|output|stdout|stderr|nohup|requirements|package)([-_.]|$)/i;

/** Returns whether a file name is that of a pointer to the newest checkpoint. */
export const isPointerName = (name: string): boolean => POINTER.test(name);

/** Returns whether a file beside a checkpoint is kept with it: a pointer to the newest one, or settings that a loader reads. */
export const mayLieBeside = (name: string): boolean =>
  POINTER.test(name) || (SETTINGS.test(name) && !LOG.test(name) && !isTemporaryName(name));

/** Returns whether a file of a manifest belongs beside the checkpoint, not into it. */
export const isBeside = (path: string): boolean => path.startsWith(`${BESIDE_FOLDER}/`);

interface Placed {
  step: number;
  role?: string | null | undefined;
  files: readonly { path: string }[];
  /** For an external checkpoint: its folder or key in the bucket. */
  origin?: { place: string; kind: "folder" | "file" } | null | undefined;
}

/**
 * Returns the path of a checkpoint below a watched folder. An external checkpoint keeps its name. Without a stored place, a
 * single file with the step in its name keeps that name; any other checkpoint becomes `checkpoint-STEP`. A final model
 * becomes `final-model`.
 */
export function placeOf({ step, role, files, origin }: Placed, place: ShownPlace | null | undefined): ShownPlace {
  if (role === "final-model") return { path: filePath.parse("final-model"), kind: "folder" };
  if (place != null) return place;
  const found = filePath.safeParse(nameOfPlace(origin?.place.replace(/\/$/, "") ?? ""));
  if (origin != null && found.success) return { path: found.data, kind: origin.kind };
  const own = files.filter(({ path }) => !isBeside(path));
  const [first] = own;
  // Manifests without a place come from older workers. Their single files have the step in the name; a folder with one file
  // does not.
  if (first !== undefined && own.length === 1 && readFileName(first.path)?.step === step)
    return { path: filePath.parse(first.path), kind: "file" };
  return { path: filePath.parse(`checkpoint-${step}`), kind: "folder" };
}

/**
 * Returns how a checkpoint is written to a target. One or several files stay files when the target has the name of the
 * (first) file. Under any other name the target becomes a folder with the files in it.
 */
export const kindAt = ({ path, kind }: Pick<ShownPlace, "path" | "kind">, target: string): ShownPlace["kind"] =>
  nameOfPlace(path) === nameOfPlace(target) ? kind : "folder";

/** Returns the last segment of a path, which is the checkpoint's name. */
export const nameOfPlace = (path: string): string => path.slice(path.lastIndexOf("/") + 1);

/**
 * Returns which of a node's watched folders of a run a checkpoint belongs to: the only one of the same name, else the one at the
 * same position, else the first. `names`: of these folders, in their order. Pure.
 */
export function rootFor(names: readonly string[], root: WatchedRoot | undefined): number {
  if (root === undefined) return 0;
  const first = names.indexOf(root.name);
  if (first >= 0 && names.lastIndexOf(root.name) === first) return first;
  return root.index < names.length ? root.index : 0;
}
