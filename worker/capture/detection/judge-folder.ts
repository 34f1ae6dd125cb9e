import { basename, join } from "node:path";
import {
  isCalledCheckpoint,
  isFrameworkFile,
  isKnownFormat,
  isWeightsName,
  nameEvidenceOf,
} from "#protocol/recognition/checkpoint-evidence.ts";
import { readFileName } from "#protocol/recognition/checkpoint-file-names.ts";
import { stepOf } from "#protocol/recognition/checkpoint-layouts.ts";
import { readContent } from "./recognise.ts";

/** Judges a folder whose name ends in a number by the names in it, so that a walk need not look at everything below. */
interface Names {
  folders: readonly string[];
  files: readonly string[];
  links: readonly string[];
}

/** Names of the item folders that Orbax keeps in a checkpoint. */
const ORBAX_ITEM = /^(default|state|params|items|train_state|d|ocdbt\.process_\d+|model|optimizer|metrics)$/;

/** Returns whether the folder may be a checkpoint, hold others, or both, by the names in it. */
export function judgeFolder(name: string, inside: Names): "checkpoint" | "others" | "both" {
  const { folders } = inside;
  const files = [...inside.files, ...inside.links];
  const holdsSteps = folders.some((one) => stepOf(one, "folder") !== null && nameEvidenceOf(one) === "word");
  if (nameEvidenceOf(name) === "word") return holdsSteps ? "both" : "checkpoint";
  if (files.some(isFrameworkFile)) return "checkpoint";
  // `seed_3/ckpt.pt`: the file is the checkpoint, and the number is the folder's own.
  if (files.some((one) => readFileName(one)?.isSaverName === true)) return "others";
  if (files.some(isWeightsName)) return "checkpoint";
  if (folders.some((one) => ORBAX_ITEM.test(one))) return "both";
  return folders.length > 0 && files.length === 0 ? "others" : "both";
}

/**
 * Returns whether the folder is a checkpoint by its name and the files directly in it. `inside` is null where it could not be
 * listed: then the name decides. No faults.
 */
export async function isCheckpointFolder(path: string, inside: Names | null): Promise<boolean> {
  const name = basename(path);
  const evidence = nameEvidenceOf(name);
  if (inside === null) return evidence === "word";
  const files = [...inside.files, ...inside.links];
  const content = await readContent(
    files.map((relative) => ({ relative, path: join(path, relative), identity: { sizeBytes: 1 } })),
  );
  if (isKnownFormat(content)) return true;
  // Deeper files are not read: above the items of Orbax stands a number or a saver's word.
  if (evidence === "number") return inside.folders.some((one) => ORBAX_ITEM.test(one));
  if (evidence !== "word") return false;
  return isCalledCheckpoint(name) || inside.folders.length > 0 || (content !== "text" && content !== "empty");
}
