import { writeFileSync } from "node:fs";
import { arch, cpus, platform, totalmem } from "node:os";
import { join } from "node:path";
import { FAULT_CLASSES } from "../faults/table.ts";
import { ROOT } from "../stage/start-process.ts";
import { BAR, type BarRow } from "./bar.ts";
import type { Measure } from "./measure.ts";
import type { Book, RecordedMeasure, RecordedTrial } from "./record.ts";

/** Makes docs/reliability.json (what was found) and docs/reliability.md (the same for people). */

interface ClassResult {
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
}

export interface Page {
  date: string;
  machine: string;
  node: string;
  program: string;
  classes: ClassResult[];
  reuse: { direction: string; kills: number; acknowledged: number; kept: number }[];
  measures: RecordedMeasure[];
}

const GIB = 1024 ** 3;

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
    machine: `${cpus().length} x ${cpus()[0]?.model ?? "unknown"}, ${Math.round(totalmem() / GIB)} GiB, ${platform()} ${arch()}`,
    node: process.version,
    program: book.trials[0]?.program ?? book.measures[0]?.program ?? "",
    classes,
    reuse: reuseOf(book.trials),
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
  };
}

/** Of what the store had acknowledged when the program was killed: how much did not travel again. */
function reuseOf(trials: readonly RecordedTrial[]): Page["reuse"] {
  const number = (value: string | number | undefined) => (typeof value === "number" ? value : 0);
  return (["up", "down"] as const).flatMap((direction) => {
    const killed = trials.filter((trial) => trial.class === "killed" && trial.direction === direction);
    const facts = killed
      .map((trial) => trial.facts)
      .filter((fact) => number(fact["acknowledgedParts"] ?? fact["acknowledgedBytes"]) > 0);
    if (facts.length === 0) return [];
    const acknowledged = facts.reduce(
      (sum, fact) => sum + number(fact["acknowledgedParts"] ?? fact["acknowledgedBytes"]),
      0,
    );
    const kept =
      direction === "up"
        ? acknowledged - facts.reduce((sum, fact) => sum + number(fact["resentParts"]), 0)
        : facts.reduce((sum, fact) => sum + Math.min(number(fact["keptBytes"]), number(fact["acknowledgedBytes"])), 0);
    return [{ direction, kills: facts.length, acknowledged, kept }];
  });
}

const bytes = (count: number) =>
  count >= GIB ? `${(count / GIB).toFixed(1)} GiB` : `${(count / 1024 ** 2).toFixed(0)} MiB`;

function cellOf(row: BarRow, page: Page, measures: readonly Measure[]): string {
  const classes = page.classes.filter(({ bar }) => bar.includes(row.row));
  const measured = page.measures.filter((one) => one.row === row.row);
  const missing = measures.filter((one) => one.row === row.row && !measured.some(({ name }) => name === one.name));
  const parts: string[] = [];
  if (classes.length > 0) {
    const trials = classes.reduce((sum, one) => sum + one.trials, 0);
    const failed = classes.reduce((sum, one) => sum + one.failed, 0);
    const names = [...new Set(classes.map((one) => one.class))];
    parts.push(`${trials} transfers, ${failed} failed (${names.join(", ")})`);
  }
  for (const one of measured) {
    parts.push(
      `${one.says}: ${one.problems.length === 0 ? "passed" : one.problems.join("; ")}. ${one.figures.join("; ")}`,
    );
  }
  for (const one of missing) parts.push(`${one.says}: ${one.whyNot?.() ?? "not run yet"}`);
  if (row.row === 12 || row.row === 13) {
    const reuse = page.reuse.find(({ direction }) => direction === (row.row === 12 ? "up" : "down"));
    if (reuse !== undefined)
      parts.push(
        `${((100 * reuse.kept) / reuse.acknowledged).toFixed(1)} % of what was acknowledged was kept, over ${reuse.kills} kills`,
      );
  }
  if (row.elsewhere !== undefined) parts.push(row.elsewhere);
  return parts.length === 0 ? "not run yet" : parts.join("<br>");
}

const cell = (text: string) => text.replaceAll("|", "\\|").replaceAll("\n", " ");

export function markdownOf(page: Page, measures: readonly Measure[]): string {
  const trials = page.classes.reduce((sum, one) => sum + one.trials, 0);
  const failed = page.classes.reduce((sum, one) => sum + one.failed, 0);
  const rows = BAR.map(
    (row) => `| ${row.row} | ${cell(row.scenario)} | ${cell(row.pass)} | ${cell(cellOf(row, page, measures))} |`,
  );
  const classes = page.classes.map(
    (one) =>
      `| \`${one.class}\` | ${one.direction} | ${cell(one.says)} | ${one.trials} | ${one.faults} | ${one.failed} | ${one.seeds} | ${bytes(one.movedBytes)} | ${bytes(one.resentBytes)} | ${(one.slowestMs / 1000).toFixed(1)} s |`,
  );
  const open = page.classes.flatMap(({ problems }) =>
    problems.map(({ replay, problem }) => `* \`${replay}\`: ${cell(problem)}`),
  );
  return `# Reliability

This page is made by \`npm run prove\`; do not edit it. Last run: ${page.date}, program ${page.program.slice(0, 12)}, Node ${page.node}, ${page.machine}.

**${trials.toLocaleString("en-US")} transfers with something going wrong, ${failed} of them not as they should be.** What must hold in each of them: it ends
well, or with one sentence and the right exit code; the bytes are the same by SHA-256; under a final name there is never a half file; nothing hangs
beyond the watchdog and ten seconds; no multipart upload is left behind; what travels twice is at most the parts that were hit or in flight; no secret
is printed. Every trial is drawn from a seed: \`npm run prove -- --class NAME --direction up --seed N\` does the same again.
\`npm test\` runs every class a few times with short waits.

## The bar

| | scenario | what must hold | found |
|---|---|---|---|
${rows.join("\n")}

## Every class

| class | way | what happens | transfers | faults | failed | seeds | moved | again | slowest |
|---|---|---|---|---|---|---|---|---|---|
${classes.join("\n")}
${open.length === 0 ? "" : `\n## What did not hold\n\n${open.join("\n")}\n`}`;
}

export function writePage(book: Book, measures: readonly Measure[]): Page {
  const page = gather(book);
  writeFileSync(join(ROOT, "docs/reliability.json"), `${JSON.stringify(page, null, 2)}\n`);
  writeFileSync(join(ROOT, "docs/reliability.md"), markdownOf(page, measures));
  return page;
}
