import type { Case } from "./case.ts";
import type { Folder } from "./folders.ts";

/** Compares trainings and folders, and describes differences in sentences. Pure. */

/** A whole training: the last loss of each step over all its executions. */
export interface Training {
  readonly losses: ReadonlyMap<number, number>;
  readonly final: number | null;
}

/** Compares to five digits. */
const isSame = (one: number, other: number): boolean =>
  one === other || Math.abs(one - other) <= 0.5e-5 * Math.max(Math.abs(one), Math.abs(other));

/** Returns the first difference of two trainings; null when losses and final model are equal to five digits. */
export function findDifference(wanted: Training, found: Training): string | null {
  for (const [step, loss] of wanted.losses) {
    const other = found.losses.get(step);
    if (other === undefined) return `step ${step} was not trained`;
    if (!isSame(loss, other)) return `loss of step ${step}: ${other.toPrecision(6)} instead of ${loss.toPrecision(6)}`;
  }
  if (wanted.final === null || found.final === null) return "it did not come to its end";
  return isSame(wanted.final, found.final) ? null : "the losses are equal, and the model at the end is another one";
}

/** Newest parts of a folder: the highest checkpoint number (-1: none), and the folder of the last start. */
interface Newest {
  readonly number: number;
  readonly start: string;
}

/** Returns whether a path belongs to an older checkpoint or start, which need not be restored. */
function isLeftBehind({ older, named = [], start }: Case, path: string, newest: Newest): boolean {
  if ((start?.exec(path)?.[1] ?? newest.start) < newest.start) return true;
  const digits = older?.exec(path)?.[1];
  if (digits === undefined) return false;
  const number = Number(digits);
  return number < newest.number && !named.includes(number);
}

function newestOf({ older, start }: Case, folder: Folder): Newest {
  const numbers = [...folder.keys()].map((path) => Number(older?.exec(path)?.[1] ?? -1));
  const starts = [...folder.keys()].map((path) => start?.exec(path)?.[1] ?? "");
  return { number: Math.max(-1, ...numbers), start: starts.toSorted().at(-1) ?? "" };
}

const MOST_NAMES = 6;
const list = (paths: readonly string[]): string =>
  paths.length <= MOST_NAMES
    ? paths.join(", ")
    : `${paths.slice(0, MOST_NAMES).join(", ")} and ${paths.length - MOST_NAMES} more`;

/** Largest difference in modification time: a restore may round times to what the manifest keeps. */
const SAME_TIME_MS = 1_000;

/**
 * Compares the folder on a new node with that of the last node when it was killed. The newest checkpoint, its related files
 * and everything that its state refers to must be identical. No other files may exist.
 */
export function judgeRestored(one: Case, before: Folder, now: Folder): string[] {
  const problems: string[] = [];
  const newest = newestOf(one, before);
  const isNeeded = (path: string) => !isLeftBehind(one, path, newest) && one.remade?.test(path) !== true;
  const missing = [...before.keys()].filter((path) => !now.has(path) && isNeeded(path));
  if (missing.length > 0) problems.push(`did not come back: ${list(missing)}`);
  const changed = [...before].flatMap(([path, { kind, content }]) => {
    const other = now.get(path);
    if (other === undefined || one.remade?.test(path) === true) return [];
    if (other.kind === kind && other.content === content) return [];
    return [other.kind === kind ? path : `${path} (a ${other.kind}, it was a ${kind})`];
  });
  if (changed.length > 0) problems.push(`came back changed: ${list(changed)}`);
  const odd = [...now.keys()].filter((path) => !before.has(path) && !isOwnBeginning(one, path));
  if (odd.length > 0) problems.push(`lie where nothing lay: ${list(odd)}`);
  const shifted = [...before].filter(([path, { kind, writtenAt, content }]) => {
    const other = now.get(path);
    if (kind !== "file" || other?.content !== content || one.remade?.test(path) === true) return false;
    return Math.abs(other.writtenAt - writtenAt) > SAME_TIME_MS;
  });
  if (shifted.length > 0) problems.push(`have another time: ${list(shifted.map(([path]) => path))}`);
  return problems;
}

/** Returns whether the program itself made a path before its first step, such as the folder of this start. */
const isOwnBeginning = ({ varying }: Case, path: string): boolean =>
  /version_\d+\/(hparams\.yaml|metrics\.csv)$|args\.yaml$|results\.csv$/.test(path) || varying?.test(path) === true;

const nameOf = ({ varying }: Case, path: string): string => (varying === undefined ? path : path.replace(varying, "…"));

/**
 * Compares the final names with those of a training that was killed at the same steps on one disk, without Tidemark. Files
 * older than the last restored checkpoint may be missing.
 */
export function judgeEnd(one: Case, wanted: Folder, about: { found: Folder; restored: Folder }): string[] {
  const { found, restored } = about;
  const problems: string[] = [];
  const newest = newestOf(one, restored);
  const kindOf = (folder: Folder) => new Map([...folder].map(([path, { kind }]) => [nameOf(one, path), kind]));
  const [expected, there] = [kindOf(wanted), kindOf(found)];
  const isNeeded = (path: string) => !isLeftBehind(one, path, newest) && one.remade?.test(path) !== true;
  const missing = [...expected.keys()].filter((path) => !there.has(path) && isNeeded(path));
  if (missing.length > 0) problems.push(`missing at the end: ${list(missing)}`);
  const odd = [...there.keys()].filter((path) => !expected.has(path));
  if (odd.length > 0) problems.push(`too many at the end: ${list(odd)}`);
  const other = [...there].filter(([path, kind]) => expected.has(path) && expected.get(path) !== kind);
  if (other.length > 0) problems.push(`of another kind at the end: ${list(other.map(([path]) => path))}`);
  return problems;
}
