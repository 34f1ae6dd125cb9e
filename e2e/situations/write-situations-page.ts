import type { Root } from "./situation.ts";

/** Of a test by its name; null: there was none of this name, or it did not run. */
export type Verdict = "passed" | "failed" | null;

const cell = (text: string): string => text.replaceAll("|", "\\|").replaceAll("\n", " ");

const PREFIXES: Readonly<Record<"failed" | "unknown", string>> = {
  failed: "**does not hold**: ",
  unknown: "**not tried**: ",
};

/** Makes the text of docs/situations.md: a table for each root, and in it what does not hold by the verdict on its test. */
export function situationsPage(roots: readonly Root[], verdictOf: (test: string) => Verdict): string {
  const count = roots.reduce((sum, { rows }) => sum + rows.length, 0);
  const tables = roots.map(({ number, title, rows }) => {
    const lines = rows.map(({ situation, outcome, test }) => {
      const verdict = verdictOf(test);
      const prefix = verdict === "passed" ? "" : PREFIXES[verdict ?? "unknown"];
      const [file = "", ...rest] = test.split(" > ");
      return `| ${cell(situation)} | ${prefix}${cell(outcome)} | \`${file}\` > ${cell(rest.join(" > "))} |`;
    });
    return `## ${number}. ${title}\n| situation | what happens | test |\n|---|---|---|\n${lines.join("\n")}\n`;
  });
  return `# Situations

This page lists ${count} situations with real folders, names, keys and machines, and how Tidemark handles each; most are from public reports of
people who do this with other tools.

This page is made by \`npm run prove -- situations\` out of \`e2e/situations/root-*.ts\`; do not edit it. It runs every test named here. A row
whose test fails says so.

${tables.join("\n")}`;
}
