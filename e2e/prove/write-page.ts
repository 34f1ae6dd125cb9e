import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { FAULT_CLASSES } from "../faults/table.ts";
import { ROOT } from "../stage/start-process.ts";
import { BAR, type BarRow } from "./bar.ts";
import { gather, mergePages, type Page } from "./gather.ts";
import type { Measure } from "./measure.ts";
import type { Book } from "./record.ts";

/** Writes docs/reliability.json with the results, and docs/reliability.md for people. */

const GIB = 1024 ** 3;

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
  const untried = FAULT_CLASSES.filter(
    ({ name, bar }) => bar.includes(row.row) && !classes.some((one) => one.class === name),
  );
  if (untried.length > 0) parts.push(`not run yet: ${untried.map(({ name }) => name).join(", ")}`);
  for (const one of measured) {
    parts.push(
      `${one.says}: ${one.problems.length === 0 ? "passed" : one.problems.join("; ")}. ${one.figures.join("; ")}`,
    );
  }
  for (const one of missing) parts.push(`${one.says}: ${one.whyNot?.() ?? "not run yet"}`);
  if (row.row === 12 || row.row === 13) {
    const direction = row.row === 12 ? "up" : "down";
    const reuse = classes.find((one) => one.direction === direction && one.reuse !== null)?.reuse ?? null;
    if (reuse !== null)
      parts.push(
        `${((100 * reuse.kept) / reuse.acknowledged).toFixed(1)} % of what was acknowledged was kept, over ${reuse.kills} kills`,
      );
  }
  if (row.elsewhere !== undefined) parts.push(row.elsewhere);
  return parts.length === 0 ? "not run yet" : parts.join("<br>");
}

const cell = (text: string) => text.replaceAll("|", "\\|").replaceAll("\n", " ");

/** Returns the page as Markdown. */
export function markdownOf(page: Page, measures: readonly Measure[]): string {
  const trials = page.classes.reduce((sum, one) => sum + one.trials, 0);
  const failed = page.classes.reduce((sum, one) => sum + one.failed, 0);
  const rows = BAR.map(
    (row) => `| ${row.row} | ${cell(row.scenario)} | ${cell(row.pass)} | ${cell(cellOf(row, page, measures))} |`,
  );
  const classes = page.classes.map(
    (one) =>
      `| \`${one.class}\` | ${one.direction} | ${cell(one.says)} | ${one.trials} | ${one.faults} | ${one.failed} | ${one.seeds} | ${bytes(one.movedBytes)} | ${bytes(one.resentBytes)} | ${(one.slowestMs / 1000).toFixed(1)} s | ${one.date}, ${one.program.slice(0, 8)} |`,
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
\`npm test\` runs every class a few times with short waits. Full counts take hours, so this page may come of several runs: each row names its own.

## The bar

| | scenario | what must hold | found |
|---|---|---|---|
${rows.join("\n")}

## Every class

| class | way | what happens | transfers | faults | failed | seeds | moved | again | slowest | tried, program |
|---|---|---|---|---|---|---|---|---|---|---|
${classes.join("\n")}
${open.length === 0 ? "" : `\n## What did not hold\n\n${open.join("\n")}\n`}`;
}

/** Writes both files. Earlier results with more trials than this run are kept. */
export function writePage(book: Book, measures: readonly Measure[]): Page {
  const file = join(ROOT, "docs/reliability.json");
  const found = gather(book);
  const page = existsSync(file) ? mergePages(found, JSON.parse(readFileSync(file, "utf8"))) : found;
  writeFileSync(file, `${JSON.stringify(page, null, 2)}\n`);
  writeFileSync(join(ROOT, "docs/reliability.md"), markdownOf(page, measures));
  return page;
}
