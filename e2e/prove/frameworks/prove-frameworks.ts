import { HUB_BUNDLE } from "../../gate/bundle-hub.ts";
import { openStage } from "../../stage/open-stage.ts";
import { prepareHub } from "../../stage/prepare-hub.ts";
import type { Case } from "./case.ts";
import { CASES } from "./cases.ts";
import { trainWithout } from "./control.ts";
import { prepareEnvironment } from "./environment.ts";
import { trainThrough } from "./through-tidemark.ts";
import { keepRow, type Row } from "./write-frameworks-page.ts";

/**
 * `npm run prove -- frameworks [--here] [NAME...]`: trains with real packages in their default settings, killed twice with SIGKILL
 * over three nodes, and writes docs/frameworks.md. With `--here` no folder is named: the working folder is watched, and the page
 * stays as it is.
 */

async function proveOne(one: Case, isHere: boolean): Promise<Row> {
  const row = async (): Promise<Pick<Row, "problems" | "losses">> => {
    const control = await trainWithout(one);
    const stage = await openStage();
    try {
      const { problems, losses } = await trainThrough(stage, { one, isHere }, control);
      return { problems: [...problems], losses };
    } finally {
      await stage.close();
    }
  };
  const found = await row().catch((error: unknown) => ({
    problems: [error instanceof Error ? error.message : String(error)],
    losses: "not compared",
  }));
  return { name: one.name, at: new Date().toISOString(), ...found };
}

/**
 * Proves the named cases, or all. Returns the exit code: 1 when a case failed. @throws Error with one sentence for an unknown
 * name
 */
export async function proveFrameworks(words: readonly string[]): Promise<number> {
  const isHere = words.includes("--here");
  const names = words.filter((word) => word !== "--here");
  const unknown = names.find((name) => !CASES.some((one) => one.name === name));
  if (unknown !== undefined)
    throw new Error(`There is no framework "${unknown}". Frameworks: ${CASES.map(({ name }) => name).join(", ")}.`);
  prepareEnvironment();
  await prepareHub();
  process.env["GATE_HUB"] = HUB_BUNDLE;
  const wanted = CASES.filter(({ name }) => names.length === 0 || names.includes(name));
  let failed = 0;
  for (const one of wanted) {
    const startedAt = performance.now();
    const row = await proveOne(one, isHere);
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    if (row.problems.length > 0) failed++;
    console.log(`  ${row.problems.length === 0 ? "passed" : "FAILED"}  ${one.name} (${seconds} s): ${row.losses}`);
    for (const problem of row.problems) console.log(`    x ${problem}`);
    if (!isHere) keepRow(row);
  }
  console.log(`${wanted.length - failed} passed, ${failed} failed.${isHere ? "" : " docs/frameworks.md was written."}`);
  return failed === 0 ? 0 : 1;
}
