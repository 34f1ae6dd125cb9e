import { isLabelName, partOf, type FileName } from "#protocol/recognition/checkpoint-file-names.ts";

/**
 * Groups files with a number in their names by step. Files of one number that were written far apart belong to different
 * trainings: `runA_step_10.pt` and `runB_step_10.pt`, or `lora_a-10` and `lora_b-10`. Pure.
 */
export interface NumberedGroup {
  step: number;
  stepFrom: "name" | "inside" | "time";
  files: SavedFile[];
}

/** A single file of a folder that may be a checkpoint, or a part of one. */
export interface SavedFile {
  name: string;
  read: FileName;
  /** Whether it may be a checkpoint by itself: by its ending, or because a person named it. */
  isModel: boolean;
  /** Whether its content is that of a model, whatever its name. */
  isKnown: boolean;
  /** Epoch ms. */
  mtimeMs: number;
  /** Step inside the file; null when there is none, or when the file was not read. */
  inside: number | null;
}

/** Files of one step that were written within this time are always together: their program may save in the background. */
const TOGETHER_MS = 60_000;
/** Files of one step that were written further apart are never together, whatever lies beside them. */
const APART_MS = 30 * 60_000;

/** A file with its step and the name of its part. */
interface Placed {
  file: SavedFile;
  step: number;
  stepFrom: NumberedGroup["stepFrom"];
  part: string;
}

/** Returns one group for each step, and for each training that wrote the step. Groups without a model are left out. */
export function groupByStep(files: readonly SavedFile[]): NumberedGroup[] {
  const placed = files.flatMap((file) => placeFile(file) ?? []);
  const groups: NumberedGroup[] = [];
  for (const [step, own] of Map.groupBy(placed, (one) => one.step)) {
    const [first] = own;
    if (first === undefined) continue;
    const { stepFrom } = first;
    for (const together of splitApart(own, placed))
      groups.push({ step, stepFrom, files: together.map(({ file }) => file) });
  }
  return groups.filter((group) => group.files.some(({ isModel }) => isModel));
}

function placeFile(file: SavedFile): Placed | null {
  const { step, from } = file.read;
  if (step === null) return null;
  const part = partOf(file.name);
  // An epoch is no step; the file itself may hold the step.
  if (from === "epoch" && file.inside !== null) return { file, step: file.inside, stepFrom: "inside", part };
  return { file, step, stepFrom: from === "date" ? "time" : "name", part };
}

/** Splits the files of one step where their times show that a later training wrote the next ones. */
function splitApart(own: readonly Placed[], all: readonly Placed[]): Placed[][] {
  const groups: Placed[][] = [];
  for (const one of own.toSorted((a, b) => a.file.mtimeMs - b.file.mtimeMs)) {
    const last = groups.at(-1);
    const before = last?.at(-1);
    if (last === undefined || before === undefined || areApart(before, one, all)) groups.push([one]);
    else last.push(one);
  }
  return groups;
}

/**
 * Returns whether two files of one step are of different trainings: hours lie between them, or one training wrote later steps
 * before the other file came. A slow background save is no such evidence.
 */
function areApart(older: Placed, newer: Placed, all: readonly Placed[]): boolean {
  const gapMs = newer.file.mtimeMs - older.file.mtimeMs;
  if (gapMs <= TOGETHER_MS || isLabelName(newer.file.name) || isLabelName(older.file.name)) return false;
  if (gapMs > APART_MS) return true;
  const between = all.filter(
    ({ file, step }) => step !== older.step && file.mtimeMs > older.file.mtimeMs && file.mtimeMs < newer.file.mtimeMs,
  );
  const has = (part: string, step: number): boolean => between.some((one) => one.part === part && one.step === step);
  // Both parts of another step lie in between: this step was written again.
  if (between.some(({ part, step }) => part === older.part && has(newer.part, step))) return true;
  // The older part had ended before the newer part began.
  const begin = Math.min(...all.filter(({ part }) => part === newer.part).map(({ file }) => file.mtimeMs));
  const end = Math.max(...all.filter(({ part }) => part === older.part).map(({ file }) => file.mtimeMs));
  return end < begin && between.some(({ part }) => part === older.part);
}

/**
 * Returns which groups belong to one line: their parts were written together at some step. `model_30` alone belongs to the line
 * of `model_20` and `optim_20`; `runB_10` does not belong to that of `runA_10`.
 */
export function linesOf<G extends { files: readonly SavedFile[] }>(groups: readonly G[]): Map<G, readonly G[]> {
  const lines: { parts: Set<string>; groups: G[] }[] = [];
  for (const group of groups) {
    const parts = partsOf(group);
    const joined = lines.filter((line) => [...parts].some((part) => line.parts.has(part)));
    for (const line of joined) lines.splice(lines.indexOf(line), 1);
    lines.push({
      parts: new Set([...parts, ...joined.flatMap((line) => [...line.parts])]),
      groups: [...joined.flatMap((line) => line.groups), group],
    });
  }
  return new Map(lines.flatMap((line) => line.groups.map((group) => [group, line.groups] as const)));
}

/** Returns the parts of a group: its names without steps and results. Labels are of any step. */
export const partsOf = ({ files }: { files: readonly SavedFile[] }): Set<string> =>
  new Set(files.filter(({ name }) => !isLabelName(name)).map(({ name }) => partOf(name)));
