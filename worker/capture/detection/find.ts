import type { CheckpointRole } from "#protocol/checkpoint/checkpoint.ts";
import { isTemporaryName } from "#protocol/recognition/checkpoint-layouts.ts";
import type { LinkRule } from "./link-rule.ts";

/**
 * A checkpoint in a watched folder, or what may be one: `checkpoint-500/`, `lightning_logs/version_0/checkpoints/last.ckpt`,
 * the files `model_10.pt` and `optim_10.pt` together. Half-written things have names of their own in every framework (`.tmp`,
 * `-tmp-`, `.partial`, `.orbax-checkpoint-tmp-`) and are left alone until they are renamed.
 */
export interface Candidate {
  /** Absolute. Of several files: of the first of them. */
  path: string;
  name: string;
  step: number;
  /** Absent: the step is in the name. `inside`: a file holds it. `time`: none is known; seconds since 1970. */
  stepFrom?: "inside" | "time";
  kind: "folder" | "file" | "files";
  /** Absent of a checkpoint. */
  role?: CheckpointRole;
  /** Of several files: their names in one folder. Of a final model: its names below `path`. Nothing else is looked at. */
  names?: readonly string[];
  /** Of several files that are written in place: those of the names that are neither models nor labels. */
  data?: readonly string[];
  /** Of the folder in which it was found. Absent: a person named it. */
  links?: LinkRule;
  /** The name is one that savers use, although it has no step. */
  isSaverName?: boolean;
  /** A file that the other steps beside it have, and this one lacks. */
  lacks?: string;
  /** Of a file: no other step lies beside it, so nothing shows whether another file of its step is still to come. */
  isAlone?: boolean;
  /** Why it may not be whole, of one that is taken all the same. */
  doubt?: string;
  /** It is the piece of one of several nodes: what the others wrote is not missing. */
  isPiece?: boolean;
  /** `last.ckpt` beside it is likely to be written anew for it. */
  isAwaited?: boolean;
}

/** Names that a person said are checkpoints, in place of those that are known here. */
export type NamePattern = (name: string) => boolean;

/** Restores of older workers go to such a folder, whatever the program calls its own. */
const RESTORED = /^checkpoint-\d{1,12}$/;

/**
 * Returns the step of a name that matches a pattern: `step=500` or else its last number before the ending; null where it has
 * none or does not match.
 */
export function stepOfNamed(name: string, about: { kind: "folder" | "file"; takes: NamePattern }): number | null {
  const { kind, takes } = about;
  if (isTemporaryName(name) || !(takes(name) || (kind === "folder" && RESTORED.test(name)))) return null;
  const stem = kind === "file" ? name.replace(/(\.(pth|pt)\.tar|\.[A-Za-z0-9]+)$/, "") : name;
  const digits = /step[=_-]?(\d{1,12})(?=$|\D)/i.exec(stem)?.[1] ?? /(\d{1,12})\D*$/.exec(stem)?.[1];
  return digits === undefined ? null : Number(digits);
}
