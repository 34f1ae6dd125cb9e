import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { z } from "zod";
import { installChromium } from "../gate/install-chromium.ts";
import { playwrightStep } from "../gate/playwright-step.ts";
import { ROOT, runStep } from "../gate/run-step.ts";
import { listTestFiles } from "../gate/test-files.ts";
import { placeOf, readRoots } from "../situations/read-roots.ts";
import type { Root } from "../situations/situation.ts";
import { situationsPage, type Verdict } from "../situations/write-situations-page.ts";

/**
 * `npm run prove -- situations [NUMBER...]`: runs the tests named by the situations, of all roots or of those with these
 * numbers. A run of all roots writes docs/situations.md.
 */

const report = z.object({
  testResults: z.array(
    z.object({
      name: z.string(),
      assertionResults: z.array(z.object({ title: z.string(), status: z.string() })),
    }),
  ),
});

interface Ran {
  file: string;
  title: string;
  isPassed: boolean;
}

/** Runs whole test files of one suite, because a title can be that of a `describe`, or of several tests. */
async function runFiles(project: string, files: readonly string[]): Promise<Ran[]> {
  const out = join(tmpdir(), `tidemark-situations-${process.pid}.json`);
  const command = ["vitest", "run", "--project", project, "--reporter=json", `--outputFile=${out}`, ...files] as const;
  const { output } = await runStep({ title: project, command: [...command] });
  try {
    return report.parse(JSON.parse(readFileSync(out, "utf8"))).testResults.flatMap(({ name, assertionResults }) =>
      assertionResults.map(({ title, status }) => ({
        file: relative(ROOT, name),
        title,
        isPassed: status === "passed",
      })),
    );
  } catch {
    console.log(output.split("\n").slice(-40).join("\n"));
    return [];
  } finally {
    rmSync(out, { force: true });
  }
}

/** Runs the browser stories of these files. Installs Chromium where it is missing. */
async function runStories(files: readonly string[]): Promise<Ran[]> {
  await installChromium({ ci: false });
  const { read, ...step } = playwrightStep(files);
  const { output } = await runStep({ title: "browser", ...step });
  const found = read();
  if (found === null) console.log(output.split("\n").slice(-40).join("\n"));
  return (found?.tests ?? []).map(({ file, name, isPassed }) => ({ file, title: name, isPassed }));
}

/** Returns whether a test that ran has a title from its file, where `%s` and `$name` stand for the values of each case. */
function isTitled(title: string, ran: string): boolean {
  const parts = title.split(/%[a-z#]|\$\w+/).map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`));
  return new RegExp(`^${parts.join(".*")}$`, "s").test(ran);
}

function verdictOn(test: string, all: readonly Ran[]): Verdict {
  const { file, title } = placeOf(test);
  const ran = all.filter((one) => one.file === file && isTitled(title, one.title));
  if (ran.length === 0) return null;
  return ran.every(({ isPassed }) => isPassed) ? "passed" : "failed";
}

async function runAll(roots: readonly Root[]): Promise<Ran[]> {
  const suites = listTestFiles();
  const wanted = new Set(roots.flatMap(({ rows }) => rows.map(({ test }) => placeOf(test).file)));
  const all: Ran[] = [];
  for (const name of ["unit", "conformance", "process"] as const) {
    const files = suites[name].filter((file) => wanted.has(file));
    if (files.length > 0) all.push(...(await runFiles(name, files)));
  }
  const stories = suites.browser.filter((file) => wanted.has(file));
  if (stories.length > 0) all.push(...(await runStories(stories)));
  return all;
}

/**
 * Runs the tests and returns the exit code: 1 when one failed or did not run. @throws Error with one sentence for an unknown
 * root
 */
export async function proveSituations(numbers: readonly string[]): Promise<number> {
  const roots = await readRoots();
  const unknown = numbers.find((number) => !roots.some((one) => String(one.number) === number));
  if (unknown !== undefined)
    throw new Error(`There is no root ${unknown}. Roots: ${roots.map(({ number }) => number).join(", ")}.`);
  const wanted = roots.filter(({ number }) => numbers.length === 0 || numbers.includes(String(number)));
  const ran = await runAll(wanted);
  const tests = wanted.flatMap(({ rows }) => rows.map(({ test }) => test));
  const bad = tests.filter((test) => verdictOn(test, ran) !== "passed");
  for (const test of bad) console.log(`  x ${verdictOn(test, ran) ?? "did not run"}: ${test}`);
  console.log(`${tests.length - bad.length} of ${tests.length} situations hold.`);
  if (numbers.length === 0) {
    const verdicts = new Map(tests.map((test) => [test, verdictOn(test, ran)]));
    writeFileSync(
      join(ROOT, "docs/situations.md"),
      situationsPage(roots, (test) => verdicts.get(test) ?? null),
    );
    console.log("docs/situations.md was written.");
  }
  return bad.length === 0 ? 0 : 1;
}
