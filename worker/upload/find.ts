import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { CheckpointRole } from "#protocol/checkpoint.ts";
import { isTemporaryName, stepOf } from "#protocol/checkpoint-layouts.ts";
import { diskFault } from "../engine/disk-fault.ts";

/**
 * What in a watched folder is a checkpoint, by its name: `checkpoint-500`, `step_500`, `global_step500`,
 * `epoch=1-step=500.ckpt`, or any folder whose name ends in a number. Half-written things have names of their own in every
 * framework (`.tmp`, `-tmp-`, `.partial`, `.orbax-checkpoint-tmp-`) and are left alone until they are renamed.
 */
export interface Candidate {
  path: string;
  name: string;
  step: number;
  kind: "folder" | "file";
  /** Absent of a checkpoint. */
  role?: CheckpointRole;
  /** Of a final model: the files of the folder that belong to it; nothing below is looked at. */
  names?: readonly string[];
}

/** Names that a person said are checkpoints, in place of those that are known here. */
export type NamePattern = (name: string) => boolean;

/** Restores go to such a folder, whatever the program calls its own. */
const RESTORED = /^checkpoint-\d{1,12}$/;

/** Of a name that matches a pattern: its last number, before the ending of a file, is the step; without one it is no checkpoint. */
export function stepOfNamed(name: string, about: { kind: Candidate["kind"]; takes: NamePattern }): number | null {
  const { kind, takes } = about;
  if (isTemporaryName(name) || !(takes(name) || (kind === "folder" && RESTORED.test(name)))) return null;
  const stem = kind === "file" ? name.replace(/\.[A-Za-z0-9]+$/, "") : name;
  const digits = /(\d{1,12})\D*$/.exec(stem)?.[1];
  return digits === undefined ? null : Number(digits);
}

/**
 * The checkpoints in a folder, lowest step first; with `takes` only those with such names. A folder that does not exist yet
 * has none. Faults: READ_FAILED.
 */
export async function findCandidates(folder: string, takes: NamePattern | null = null): Promise<Candidate[]> {
  const found: Candidate[] = [];
  try {
    for (const entry of await readdir(folder, { withFileTypes: true })) {
      const kind = entry.isDirectory() ? "folder" : entry.isFile() ? "file" : null;
      if (kind === null) continue;
      const step = takes === null ? stepOf(entry.name, kind) : stepOfNamed(entry.name, { kind, takes });
      if (step !== null) found.push({ path: join(folder, entry.name), name: entry.name, step, kind });
    }
  } catch (error) {
    const fault = diskFault(error, { op: "watch", subject: folder, otherwise: "READ_FAILED" });
    if (fault.context.detail !== "ENOENT") throw fault;
  }
  return found.sort((a, b) => a.step - b.step || (a.name < b.name ? -1 : 1));
}
