import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { ROOT } from "../../stage/start-process.ts";
import type { Case } from "./case.ts";
import { CASES } from "./cases.ts";
import { HERE, versionOf } from "./environment.ts";

/**
 * Writes docs/frameworks.md. Its rows are stored in the repository beside the cases, so that a run of some cases keeps the
 * results of the others.
 */

const row = z.object({
  name: z.string(),
  at: z.string(),
  problems: z.array(z.string()),
  losses: z.string(),
});
export type Row = z.infer<typeof row>;
const rows = z.array(row);

const ROWS = join(HERE, "rows.json");
const readRows = (): Row[] => rows.parse(JSON.parse(readFileSync(ROWS, "utf8")));

/** Replaces the row of a case. Rows of removed cases are dropped; the order is that of the cases. */
export function withRow(known: readonly Row[], fresh: Row): Row[] {
  const byName = new Map([...known, fresh].map((one) => [one.name, one]));
  return CASES.flatMap(({ name }) => byName.get(name) ?? []);
}

/** Stores the result of a case, without the worker's messages, and rewrites the page. */
export function keepRow(fresh: Row): void {
  const kept = withRow(readRows(), { ...fresh, problems: [...new Set(fresh.problems.map(brief))] });
  writeFileSync(ROWS, `${JSON.stringify(kept, null, 2)}\n`);
  writeFrameworksPage(kept);
}

const cell = (text: string): string => text.replaceAll("|", "\\|").replaceAll("\n", " ");

/** Shortens a problem for the page. The worker's messages are removed, because they name temporary folders. */
const brief = (problem: string): string =>
  problem
    .replace(/\. Said: .*$/s, "")
    .replaceAll(/(?<![\w.])(?:\/[\w.@+=-]+)+\//g, "…/")
    .slice(0, 300);

function resultOf(one: Case, found: Row | undefined): string {
  if (found === undefined) return "not run yet";
  const [first] = found.problems;
  if (first !== undefined) return `does not work: ${found.problems.slice(0, 3).join("; ")}`;
  return one.elsewhere === undefined
    ? `works; losses ${found.losses}`
    : "goes on once, and Tidemark says what to watch";
}

function lineOf(one: Case, found: Row | undefined): string {
  const cells = [
    one.title,
    one.packages.map((name) => `${name} ${versionOf(name)}`).join(", "),
    one.watches,
    one.write ?? "nothing",
    `${resultOf(one, found)}${one.note === undefined ? "" : `. ${one.note}`}`,
  ];
  return `| ${cells.map(cell).join(" | ")} |`;
}

function writeFrameworksPage(found: readonly Row[]): void {
  const last =
    found
      .map(({ at }) => at.slice(0, 10))
      .toSorted()
      .at(-1) ?? "never";
  const page = `# Frameworks

Which training frameworks go on by themselves under \`tidemark run --watch FOLDER -- COMMAND\`, what to watch for each, and what to
write into the program.

This page is made by \`npm run prove -- frameworks\`; do not edit it. Last run: ${last}.

## How it was tried
Each program trains a tiny model with the framework's default settings on generated data and knows nothing of Tidemark
(\`e2e/prove/frameworks/programs\`). It trains once without a stop, and once over three nodes: program and worker are killed with -9
when the hub calls the newest checkpoint safe, and the next node begins with an empty folder. A row works when
* the program continues from the same step as it would have on its old disk;
* every loss is equal to five digits to the uninterrupted training's, or to those of the same kills on one disk where the framework
  does not repeat itself, and so is the model at the end;
* the program finds the files that it left, with the same bytes, places, kinds and times;
* at the end the same files are there, so best models and rotation are right. Checkpoints older than the newest come back only where
  the newest names them.

## Results
| framework | version tried | watch | write | result |
|---|---|---|---|---|
${CASES.map((one) =>
  lineOf(
    one,
    found.find(({ name }) => name === one.name),
  ),
).join("\n")}
`;
  writeFileSync(join(ROOT, "docs/frameworks.md"), page);
}
