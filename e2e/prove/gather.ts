import { arch, cpus, platform, totalmem } from "node:os";
import { FAULT_CLASSES } from "../faults/table.ts";
import type { Book, RecordedMeasure, RecordedTrial } from "./record.ts";

/** What the trials of one class in one direction came to. */
export interface ClassResult {
  class: string;
  direction: string;
  says: string;
  bar: readonly number[];
  catalogue: readonly number[];
  trials: number;
  failed: number;
  seeds: string;
  faults: number;
  movedBytes: number;
  resentBytes: number;
  slowestMs: number;
  endings: Record<string, number>;
  problems: { replay: string; problem: string }[];
  /** Of what the store had acknowledged when the program was killed: how much did not travel again. */
  reuse: { kills: number; acknowledged: number; kept: number } | null;
  /** The program that was tried: the SHA-256 of its bundle. */
  program: string;
  /** Of the last trial. */
  date: string;
}

/** Everything that docs/reliability.md says, as docs/reliability.json keeps it. */
export interface Page {
  date: string;
  machine: string;
  node: string;
  program: string;
  classes: ClassResult[];
  measures: RecordedMeasure[];
}

/** What the trials and measures in the book come to. */
export function gather(book: Book): Page {
  const classes = FAULT_CLASSES.flatMap((one) =>
    one.directions.flatMap((direction) => {
      const trials = book.trials.filter((trial) => trial.class === one.name && trial.direction === direction);
      return trials.length === 0 ? [] : [summarise(trials, { ...one, direction })];
    }),
  );
  const dates = [...book.trials, ...book.measures].map(({ at }) => at).toSorted();
  const newest = new Map(book.measures.map((one) => [one.name, one]));
  return {
    date: dates.at(-1)?.slice(0, 10) ?? "",
    machine: `${cpus().length} x ${cpus()[0]?.model ?? "unknown"}, ${Math.round(totalmem() / 1024 ** 3)} GiB, ${platform()} ${arch()}`,
    node: process.version,
    program: book.trials[0]?.program ?? book.measures[0]?.program ?? "",
    classes,
    measures: [...newest.values()],
  };
}

function summarise(
  trials: readonly RecordedTrial[],
  one: { name: string; says: string; bar: readonly number[]; catalogue: readonly number[]; direction: string },
): ClassResult {
  const seeds = trials.map(({ seed }) => seed).toSorted((a, b) => a - b);
  const endings: Record<string, number> = {};
  for (const { ending } of trials) endings[ending] = (endings[ending] ?? 0) + 1;
  const sum = (read: (trial: RecordedTrial) => number) => trials.reduce((total, trial) => total + read(trial), 0);
  return {
    class: one.name,
    direction: one.direction,
    says: one.says,
    bar: one.bar,
    catalogue: one.catalogue,
    trials: trials.length,
    failed: trials.filter(({ problems }) => problems.length > 0).length,
    seeds: `${seeds[0] ?? 0} to ${seeds.at(-1) ?? 0}`,
    faults: sum(({ faults }) => faults),
    movedBytes: sum(({ bytes }) => bytes),
    resentBytes: sum(({ resentBytes }) => resentBytes),
    slowestMs: Math.max(...trials.map(({ tookMs }) => tookMs)),
    endings,
    problems: trials.flatMap(({ problems, replay }) => problems.map((problem) => ({ replay, problem }))),
    reuse: one.name === "killed" ? reuseOf(trials, one.direction) : null,
    program: trials[0]?.program ?? "",
    date: trials.map(({ at }) => at.slice(0, 10)).reduce((latest, date) => (date > latest ? date : latest), ""),
  };
}

function reuseOf(killed: readonly RecordedTrial[], direction: string): ClassResult["reuse"] {
  const number = (value: string | number | undefined) => (typeof value === "number" ? value : 0);
  const facts = killed
    .map((trial) => trial.facts)
    .filter((fact) => number(fact["acknowledgedParts"] ?? fact["acknowledgedBytes"]) > 0);
  if (facts.length === 0) return null;
  const acknowledged = facts.reduce(
    (sum, fact) => sum + number(fact["acknowledgedParts"] ?? fact["acknowledgedBytes"]),
    0,
  );
  const kept =
    direction === "up"
      ? acknowledged - facts.reduce((sum, fact) => sum + number(fact["resentParts"]), 0)
      : facts.reduce((sum, fact) => sum + Math.min(number(fact["keptBytes"]), number(fact["acknowledgedBytes"])), 0);
  return { kills: facts.length, acknowledged, kept };
}

/**
 * What is known after a run: of each class what was found now, unless an earlier version of the program was tried more
 * often; of each measure the newest. Full counts take hours, so a page may come of several runs, each of which is named.
 */
export function mergePages(found: Page, earlier: Page): Page {
  const classes = FAULT_CLASSES.flatMap(({ name, directions }) =>
    directions.flatMap((direction) => {
      const now = found.classes.find((one) => one.class === name && one.direction === direction);
      const before = earlier.classes.find((one) => one.class === name && one.direction === direction);
      const best = now === undefined || (before?.trials ?? 0) > now.trials ? before : now;
      return best === undefined ? [] : [best];
    }),
  );
  const older = earlier.measures.filter((one) => !found.measures.some(({ name }) => name === one.name));
  return { ...found, classes, measures: [...found.measures, ...older] };
}
