import * as z from "zod";
import { readFileName } from "../recognition/checkpoint-file-names.ts";
import { isTemporaryName } from "../recognition/checkpoint-layouts.ts";
import { filePath } from "../base/names.ts";

/**
 * Where a checkpoint lay in the watched folder of its run, so that a restore puts it back under the same name at the same
 * place: a file as a file.
 */

/** `folder`: one folder. `file`: one file. `files`: several files of one folder, which may hold others. */
const placeKind = z.enum(["folder", "file", "files"]);

/** Where a step that is not in the name comes from: a file holds it, or it is the time of writing in seconds since 1970. */
export const stepSource = z.enum(["inside", "time"]);
export type StepSource = z.infer<typeof stepSource>;

/** Most files beside a checkpoint that are kept with it. */
export const MOST_BESIDE = 16;

/** Most other checkpoints that are named with one. */
export const MOST_SIBLINGS = 16;

/** Files of the run beside a checkpoint: `latest`, `config.yaml`, a link `last.ckpt`. */
export const besideFile = z.union([
  /** `file`: its name among the files of the manifest. */
  z.object({ path: filePath, file: filePath }),
  /** `link`: where the link leads, below the watched folder. */
  z.object({ path: filePath, link: filePath }),
]);
export type BesideFile = z.infer<typeof besideFile>;

export const checkpointPlace = z.object({
  /** Below the watched folder, `/`-separated. Of several files: that of the first. */
  path: filePath,
  kind: placeKind,
  /** Absent: the step is in the name. */
  stepFrom: stepSource.optional(),
  beside: z.array(besideFile).max(MOST_BESIDE).optional(),
  /** Names of other checkpoints in its folder when it was captured, newest first, where a framework compares all of them (Orbax). */
  siblings: z.array(z.string().min(1).max(255)).max(MOST_SIBLINGS).optional(),
});
export type CheckpointPlace = z.infer<typeof checkpointPlace>;

/** The place as it is shown and asked for: without what lies beside it. */
export const shownPlace = checkpointPlace.omit({ beside: true, siblings: true });
export type ShownPlace = z.infer<typeof shownPlace>;

/** Files beside a checkpoint stand in its manifest below this name, which no program gives to its own. */
export const BESIDE_FOLDER = ".tidemark-beside";

/** Files that say which checkpoint is the newest: DeepSpeed, Megatron, TensorFlow, Detectron2. */
const POINTER = /^(latest|latest_checkpointed_iteration\.txt|checkpoint|latest_checkpoint\.txt|last_checkpoint)$/;
const SETTINGS = /\.(json|ya?ml|toml|ini|cfg|txt|model|jinja)$/i;
/** Logs and results grow with the run and are no part of a step. */
const LOG =
  /(^|[-_.])(log|logs|metrics|results|history|events|output|stdout|stderr|nohup|requirements|package)([-_.]|$)/i;

/** Returns whether a name is that of a pointer to the newest checkpoint. */
export const isPointerName = (name: string): boolean => POINTER.test(name);

/** Returns whether a file of this name is kept with the checkpoint that it lies beside: a pointer, or settings of a loader. */
export const mayLieBeside = (name: string): boolean =>
  POINTER.test(name) || (SETTINGS.test(name) && !LOG.test(name) && !isTemporaryName(name));

/** Returns whether a file of a manifest belongs beside the checkpoint, not into it. */
export const isBeside = (path: string): boolean => path.startsWith(`${BESIDE_FOLDER}/`);

interface Placed {
  step: number;
  role?: string | null | undefined;
  files: readonly { path: string }[];
  /** Of what another tool wrote: its folder or key in the bucket. */
  origin?: { place: string; kind: "folder" | "file" } | null | undefined;
}

/**
 * Returns the path of a checkpoint below a watched folder. A checkpoint of another tool keeps its own name. One without a stored
 * place keeps its name when that is a single file with the step in its name, else it is `checkpoint-STEP`. A final model is `final-model`.
 */
export function placeOf({ step, role, files, origin }: Placed, place: ShownPlace | null | undefined): ShownPlace {
  if (role === "final-model") return { path: filePath.parse("final-model"), kind: "folder" };
  if (place != null) return place;
  const found = filePath.safeParse(nameOfPlace(origin?.place.replace(/\/$/, "") ?? ""));
  if (origin != null && found.success) return { path: found.data, kind: origin.kind };
  const own = files.filter(({ path }) => !isBeside(path));
  const [first] = own;
  // A folder with one file in it has a name of its own; a file of that time had its step in its name.
  if (first !== undefined && own.length === 1 && readFileName(first.path)?.step === step)
    return { path: filePath.parse(first.path), kind: "file" };
  return { path: filePath.parse(`checkpoint-${step}`), kind: "folder" };
}

/**
 * Returns how a checkpoint lies at a target. What was one file or several is put there as such when the target has the name of
 * the (first) file; under any other name the target is a folder with the files in it.
 */
export const kindAt = ({ path, kind }: Pick<ShownPlace, "path" | "kind">, target: string): ShownPlace["kind"] =>
  nameOfPlace(path) === nameOfPlace(target) ? kind : "folder";

/** Returns the last segment: what the checkpoint is called. */
export const nameOfPlace = (path: string): string => path.slice(path.lastIndexOf("/") + 1);
