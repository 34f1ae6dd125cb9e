import { inCi as needsAll, installPythonClients, installServer } from "../servers/install.ts";
import { prepareHub } from "../stage/prepare-hub.ts";
import { build } from "./build.ts";
import { check } from "./check.ts";
import { findLeft } from "./find-left.ts";
import { installChromium } from "./install-chromium.ts";
import { installDebian } from "./install-debian.ts";
import { playwrightStep } from "./playwright-step.ts";
import { inCi } from "./run-step.ts";
import { startSummary, type TestSummary } from "./test-summary.ts";
import { findNamed, listTestFiles, type Selection, suitesOf } from "./test-files.ts";
import { vitestStep } from "./vitest-step.ts";

/**
 * `npm test`: runs everything. It installs what the tests need, then runs two lanes in parallel, because tests mostly wait.
 * One lane has the process tests; the other has conformance, fault classes and browser stories. The last line has the counts.
 * In CI, skipped or missing parts are failures.
 *
 * `npm test -- PATH…` runs only the tests at these paths, of any suite.
 */

const TITLES = {
  unit: "unit tests: functions and components alone",
  conformance: "conformance: one table of S3 behavior over the embedded store and a real server",
  process: "process tests: stores, hubs and workers as real programs",
  faults: "fault classes: transfers through seeded faults, one trial each way",
  browser: "browser stories: the pages of a real hub in Chromium",
} as const;

/** Runs the browser stories. Without Chromium they are skipped; in CI that is a failure. */
async function browser(summary: TestSummary, files?: readonly string[]): Promise<void> {
  try {
    await installChromium({ ci: inCi });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    if (inCi) summary.fail("Chromium", why);
    else {
      const stories = (files ?? listTestFiles().browser).length;
      console.log(`skip ${stories} files of browser stories: ${why}`);
      summary.add({ passed: 0, failed: 0, skipped: stories });
    }
    return;
  }
  await summary.suite(TITLES.browser, playwrightStep(files));
}

async function runAll(summary: TestSummary): Promise<void> {
  // Building the server takes minutes on a new machine, so it runs in parallel with the checks.
  const installed = summary.attempt("install a real S3 server and the clients to compare with", async () => {
    await installServer("versitygw", { ci: needsAll() });
    await installPythonClients({ ci: needsAll() });
  });
  // Sequential, because apt-get holds a lock.
  const debian = installDebian().then(async (made) => {
    // The failure is reported later, where the stories are skipped.
    await installChromium({ ci: inCi }).catch(() => undefined);
    return made;
  });
  summary.add(await check());
  const built = await summary.attempt("build the pages, the worker, and the hub for tests", async () => {
    await build();
    await prepareHub();
  });
  const plain = await debian;
  if ("missing" in plain) console.log(`     the single executable is not tried in Debian 12: ${plain.missing}`);
  await installed;
  const processes = async (): Promise<void> => {
    const env: Record<string, string> = "folder" in plain ? { PLAIN_ROOTS: plain.folder } : {};
    if (built) await summary.suite(TITLES.process, vitestStep("process", { env }));
  };
  const others = async (): Promise<void> => {
    if (built) await browser(summary);
    await summary.suite(TITLES.conformance, vitestStep("conformance"));
    if (built) await summary.suite(TITLES.faults, vitestStep("faults"));
  };
  await Promise.all([processes(), others()]);
}

/** Runs the tests of a selection, one suite after another. */
export async function runSelection(summary: TestSummary, selection: Selection): Promise<void> {
  const names = suitesOf(selection);
  const isStaged = names.some((name) => name === "process" || name === "browser" || name === "faults");
  if (isStaged) {
    const isBuilt = await summary.attempt("build what changed", async () => {
      await build(names.includes("browser") || names.includes("process") ? undefined : "dist/tidemark.mjs");
      await prepareHub();
    });
    if (!isBuilt) return;
  }
  for (const name of names) {
    const files = selection[name] ?? [];
    if (name === "browser") await browser(summary, files);
    else await summary.suite(TITLES[name], vitestStep(name, { files }));
  }
}

if (import.meta.main) {
  const paths = process.argv.slice(2);
  const summary = startSummary();
  try {
    if (paths.length > 0) await runSelection(summary, findNamed(paths));
    else await runAll(summary);
    for (const command of await findLeft()) summary.fail("a process was left behind", command);
    summary.end(paths.length > 0 ? "part of the tests" : "keep the times");
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 2;
  }
}
