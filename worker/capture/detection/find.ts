import type { CheckpointRole } from "#protocol/checkpoint/checkpoint.ts";
import { withoutResults } from "#protocol/recognition/checkpoint-file-names.ts";
import { dateIn, endOfDate, isTemporaryName } from "#protocol/recognition/checkpoint-layouts.ts";
import type { StepSource } from "#protocol/checkpoint/place.ts";
import type { LinkRule } from "./link-rule.ts";

/**
 * A checkpoint in a watched folder, or something that may be one: `checkpoint-500/`,
 * `lightning_logs/version_0/checkpoints/last.ckpt`, the files `model_10.pt` and `optim_10.pt` together. Every framework has
 * names for half-written files (`.tmp`, `-tmp-`, `.partial`, `.orbax-checkpoint-tmp-`); such files are ignored until they are
 * renamed.
 */
export interface Candidate {
  /** Absolute path; for several files, that of the first one. */
  path: string;
  name: string;
  step: number;
  /** Origin of the step (see `stepSource`); absent: the name. */
  stepFrom?: Exclude<StepSource, "name">;
  kind: "folder" | "file" | "files";
  /** Absent for an ordinary checkpoint. */
  role?: CheckpointRole;
  /** Names of several files in one folder, or of a final model's files below `path`. All other files are ignored. */
  names?: readonly string[];
  /** Subset of `names`: files that are neither models nor labels, when several files are overwritten in place. */
  data?: readonly string[];
  /** Link rule of the folder in which it was found. Absent: a person named it. */
  links?: LinkRule;
  /** Whether savers use the name, although it has no step. */
  isSaverName?: boolean;
  /** A file that the other steps beside it have and this one lacks. */
  lacks?: string;
  /** Whether no other step lies beside this file, so that nothing shows whether more files of its step will come. */
  isAlone?: boolean;
  /** Whether more files may follow: it is the only step of its line, by single files with a number in their names. */
  mayGrow?: boolean;
  /** Why it may be incomplete, when it is captured anyway. */
  doubt?: string;
  /** Whether it is the piece of one of several nodes: files that the others wrote are not missing. */
  isPiece?: boolean;
  /** Whether `last.ckpt` beside it is likely to be rewritten for it. */
  isAwaited?: boolean;
}

/** Names that a person declared to be checkpoints, in place of the known ones. */
export type NamePattern = (name: string) => boolean;

/** Folder name to which older workers restored, whatever the program calls its own. */
const RESTORED = /^checkpoint-\d{1,12}$/;

/**
 * Returns the step of a name that matches a pattern: `step=500`, or else its last number before the ending that is no result
 * (`val_loss=0.21`), or its date in seconds since 1970 where no number follows it. Null: the name has none or does not match.
 */
export function stepOfNamed(name: string, about: { kind: "folder" | "file"; takes: NamePattern }): number | null {
  const { kind, takes } = about;
  if (isTemporaryName(name) || !(takes(name) || (kind === "folder" && RESTORED.test(name)))) return null;
  const stem = kind === "file" ? name.replace(/(\.(pth|pt)\.tar|\.[A-Za-z0-9]+)$/, "") : name;
  const step = /step[=_-]?(\d{1,12})(?=$|\D)/i.exec(stem)?.[1];
  if (step !== undefined) return Number(step);
  const date = dateIn(stem);
  if (date !== null) return lastIn(stem.slice(endOfDate(stem))) ?? date;
  return lastIn(withoutResults(stem)) ?? lastIn(stem);
}

const lastIn = (text: string): number | null => {
  const digits = /(\d{1,12})\D*$/.exec(text)?.[1];
  return digits === undefined ? null : Number(digits);
};
