import { arch, cpus, platform, totalmem } from "node:os";
import { FAULT_CLASSES } from "../faults/table.ts";
import type { Book, RecordedMeasure, RecordedTrial } from "./record.ts";

/** Results of the trials of one class in one direction. */
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
  /** Share of acknowledged bytes that were not sent again after a kill; null without kills. */
  reuse: { kills: number; acknowledged: number; kept: number } | null;
  /** Tested program: the SHA-256 of its bundle. */
  program: string;
  /** Date of the last trial. */
  date: string;
}

/** Content of docs/reliability.md, as stored in docs/reliability.json. */
export interface Page {
  date: string;
  machine: string;
  node: string;
  program: string;
  classes: ClassResult[];
  measures: RecordedMeasure[];
}

/** Aggregates the recorded trials and measures. */
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
 * Merges new results with earlier ones. A class keeps its earlier results when they have more trials; a measure takes the
 * newest. Full counts take hours, so a page may combine several runs, each of which is named.
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
