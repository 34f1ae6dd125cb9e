import { isWeightsName } from "#protocol/recognition/checkpoint-evidence.ts";
import { isLabelName } from "#protocol/recognition/checkpoint-file-names.ts";
import { groupByStep, linesOf, partsOf, type NumberedGroup, type SavedFile } from "./group-by-step.ts";

/**
 * Groups the single files of one folder into checkpoints. Files of one step that were written together are one checkpoint
 * (`model_10.pt` beside `optim_10.pt`, one file a rank). Files without a step are overwritten in place, and together form one
 * checkpoint. `last.ckpt` goes with the step that it was written with. Pure.
 */
export interface FileSet {
  /** Names of its files. The first one gives the set its path, so it has to be a file that a later look finds again. */
  names: readonly string[];
  step: number;
  stepFrom: "name" | "inside" | "time";
  /** Whether savers use such a name. */
  isSaverName: boolean;
  /** A file that the other steps of its line have and this one lacks; null: none. */
  lacks: string | null;
  /** Whether no other step of its line lies beside it. */
  isAlone: boolean;
  /** Whether it has a number in its name and no other step of its line shows which files belong to one. */
  mayGrow: boolean;
  /** Whether `last.ckpt` still goes with an older step, so that it is likely to be rewritten for this one. */
  isAwaited: boolean;
  /** Whether it is overwritten in place beside numbered files; beside real steps it is no checkpoint. */
  isBesideSteps: boolean;
  /** Subset of `names`: files that are neither models nor labels, which a program may need even when it begins anew. */
  data: readonly string[];
}

type Group = NumberedGroup;

/** Stands for the step of a file that its saver stripped at the end of the training: no program resumes from it. */
export const FINAL = -1;

/** A label belongs to a step if it was written at most this long before or after the files of the step. */
const BEFORE_MS = 10_000;
const AFTER_MS = 120_000;
/** Files that are overwritten in place within this time belong to one state. */
const TOGETHER_MS = 60_000;

/** As many lines of a single step in one folder are one line. */
const MOST_SINGLE = 4;

/** Returns the checkpoints among the files, lowest step first. */
export function fileSetsOf(files: readonly SavedFile[]): FileSet[] {
  const groups: Group[] = groupByStep(files);
  // Stripped by `strip_optimizer` of ultralytics: no program resumes from it.
  const unnumbered = files.filter(({ read, inside }) => read.step === null && inside !== FINAL);
  // `train.bin` and `data.h5` may be anything: a saver's name, a format of weights, or the content of a model is required.
  const models = unnumbered.filter(
    ({ name, read, isModel, isKnown }) => isModel && (read.isSaverName || isWeightsName(name) || isKnown),
  );
  const rest = models.filter((file) => !joinGroup(groups, file));
  const isNumbered = groups.length > 0;
  if (isNumbered) {
    for (const file of rest) {
      if (file.inside !== null && file.read.isSaverName)
        groups.push({ step: file.inside, stepFrom: "inside", files: [file] });
    }
  }
  if (groups.length > 1) giveBest(groups);
  const used = new Set(groups.flatMap(({ files: own }) => own));
  // A number is no proof of a step (`preds_5.npz`), so a state that is overwritten in place beside one must not be lost.
  const isFree = (file: SavedFile) => !used.has(file);
  const state = stateOf(rest.filter(isFree), unnumbered.filter(isFree));
  const lines = linesOf(groups);
  const lineOf = (group: Group): readonly Group[] => lines.get(group) ?? [group];
  // Names that differ at each step (a hash, a time) say nothing about what belongs to one.
  const isVaried = groups.filter((group) => lineOf(group).length === 1).length >= MOST_SINGLE;
  const sets = groups.map((group) => setOf(group, { all: groups, line: isVaried ? groups : lineOf(group) }));
  if (state !== null)
    sets.push({
      ...setOf(state, { all: [state], line: [state] }),
      isBesideSteps: isNumbered,
      data: dataOf(state, models),
    });
  return sets.toSorted((one, other) => one.step - other.step);
}

/** Moves a best-so-far file to the step that is trained now: a program loads or replaces it later, whichever step it is of. */
function giveBest(groups: readonly Group[]): void {
  const newest = groups.toSorted((a, b) => newestOf(b.files.filter(isNoBest)) - newestOf(a.files.filter(isNoBest)))[0];
  for (const group of groups) {
    if (newest === undefined || group === newest || group.files.every((file) => !isNoBest(file))) continue;
    newest.files.push(...group.files.filter((file) => !isNoBest(file)));
    group.files = group.files.filter(isNoBest);
  }
}

const isNoBest = ({ name, read }: SavedFile): boolean =>
  read.step !== null || !isLabelName(name) || !/best/i.test(name);

/** Adds a file without a step in its name to the step that it belongs to. Returns whether there is one. */
function joinGroup(groups: readonly Group[], file: SavedFile): boolean {
  const same = groups.findLast(({ step }) => step === file.inside);
  const beside = same ?? (isLabelName(file.name) && file.inside === null ? writtenWith(groups, file) : undefined);
  beside?.files.push(file);
  return beside !== undefined;
}

function writtenWith(groups: readonly Group[], { mtimeMs }: SavedFile): Group | undefined {
  const fits = groups.filter((group) => {
    const newest = newestOf(group.files);
    return mtimeMs >= newest - BEFORE_MS && mtimeMs <= newest + AFTER_MS;
  });
  return fits.toSorted((a, b) => newestOf(b.files) - newestOf(a.files))[0];
}

/** Returns the files that a program overwrites in place, as one state; null: there are none. */
function stateOf(models: readonly SavedFile[], all: readonly SavedFile[]): Group | null {
  if (models.length === 0) return null;
  const named = models.filter(({ read }) => read.isSaverName);
  const first = named.length > 0 ? named : models;
  const newest = newestOf(first);
  // `training_metadata.json` of Keras is written with the weights; a `config.json` from the start is not.
  const own = all.filter((file) => first.includes(file) || Math.abs(file.mtimeMs - newest) <= TOGETHER_MS);
  const inside = own.flatMap((file) => file.inside ?? []);
  if (inside.length > 0) return { step: Math.max(...inside), stepFrom: "inside", files: own };
  return { step: Math.floor(newestOf(own) / 1000), stepFrom: "time", files: own };
}

/**
 * Returns files that need not belong to the model although written within a minute of it: a vocabulary, features, a dictionary.
 */
const dataOf = ({ files }: Group, models: readonly SavedFile[]): string[] =>
  files.filter((file) => !models.includes(file) && !file.read.isSaverName).map(({ name }) => name);

const newestOf = (files: readonly SavedFile[]): number =>
  files.reduce((newest, { mtimeMs }) => Math.max(newest, mtimeMs), 0);

/** `line`: the groups whose parts are written together with those of this one. */
function setOf(group: Group, { all, line }: { all: readonly Group[]; line: readonly Group[] }): FileSet {
  const { files, step, stepFrom } = group;
  const models = files.filter(({ isModel }) => isModel);
  // A label moves to the next step, so it is no name to find the set by.
  const first = [...models].sort((a, b) => rankOf(a) - rankOf(b) || byName(a, b))[0];
  const others = files.filter((file) => file !== first).toSorted(byName);
  return {
    names: [first, ...others].flatMap((file) => file?.name ?? []),
    step,
    stepFrom,
    isSaverName: files.some(({ read }) => read.isSaverName),
    lacks: lackOf(group, line),
    isAlone: line.length === 1,
    mayGrow: line.length === 1 && files.some(({ read }) => read.step !== null),
    isAwaited: isAwaited(group, all),
    isBesideSteps: false,
    data: [],
  };
}

/** Ranks files for the first place: a program resumes from the newest one, not from the best. */
const rankOf = ({ name }: SavedFile): number => (isLabelName(name) ? (/best/i.test(name) ? 2 : 1) : 0);

const byName = (a: SavedFile, b: SavedFile): number => (a.name < b.name ? -1 : 1);

const isNewestLabel = ({ name }: SavedFile): boolean => isLabelName(name) && !/best/i.test(name);

function isAwaited(group: Group, all: readonly Group[]): boolean {
  if (group.files.some(isNewestLabel)) return false;
  return all.some((other) => other.files.some(isNewestLabel) && newestOf(other.files) <= newestOf(group.files));
}

/** Returns a file that every other step of the line has and this one lacks; null: none. Files that only some steps have are not required. */
function lackOf(group: Group, line: readonly Group[]): string | null {
  const others = line.filter((other) => other !== group && other.files.some(({ read }) => read.step !== null));
  const own = partsOf(group);
  const [first, ...rest] = others.map(partsOf);
  if (first === undefined || !group.files.some(({ read }) => read.step !== null)) return null;
  const wanted = [...first].filter((part) => rest.every((parts) => parts.has(part)));
  const missing = wanted.find((part) => !own.has(part));
  return missing === undefined ? null : missing.replaceAll("#", String(group.step));
}
