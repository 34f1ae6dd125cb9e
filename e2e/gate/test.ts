import { tmpdir } from "node:os";
import { join } from "node:path";
import { installClients, installServers } from "../servers/install.ts";
import { build } from "./build.ts";
import { check } from "./check.ts";
import { add, type Counts, type Report, readPlaywright } from "./count.ts";
import { installDebian } from "./install-debian.ts";
import { installChromium } from "./install-chromium.ts";
import { inCi, runStep, tell } from "./run-step.ts";
import { vitestStep } from "./vitest-step.ts";

/**
 * `npm test`: everything. Installs what the tests need, then the checks, the conformance table over every store, the
 * process tests, the fault classes, and the browser stories. The last line is the count. In CI nothing may be skipped:
 * what is missing there is a failure.
 */

let total: Counts = { passed: 0, failed: 0, skipped: 0 };
const fail = (title: string, why: string) => {
  console.log(`FAIL ${title}: ${why}`);
  total = add(total, { passed: 0, failed: 1, skipped: 0 });
};
const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

async function attempt(title: string, work: () => Promise<unknown>): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (error) {
    fail(title, messageOf(error));
    return false;
  }
}

interface SuiteRun {
  command: [string, ...string[]];
  env?: Record<string, string>;
  read: () => Report | null;
}

async function suite(title: string, run: SuiteRun): Promise<void> {
  const result = await runStep({ title, command: run.command, env: { ...run.env, ...(inCi ? { CI: "true" } : {}) } });
  const counts = run.read();
  tell(result, counts ?? undefined);
  if (counts === null) fail(title, "the runner wrote no report");
  else {
    total = add(total, counts);
    if (!result.ok && counts.failed === 0) fail(title, "the runner failed outside a test");
  }
}

const vitest = (project: string, env: Record<string, string> = {}) => suite(project, vitestStep(project, env));

// Building the servers takes minutes on a new machine, so it goes on beside the checks.
const installed = attempt("install the S3 servers and the clients to compare with", async () => {
  await installServers({ ci: inCi });
  await installClients({ ci: inCi });
});
const debian = installDebian();
total = add(total, await check());
await installed;
const plain = await debian;
if ("missing" in plain) console.log(`     the single executable is not tried in Debian 12: ${plain.missing}`);
const built = await attempt("build", build);
const browser = async () => {
  if (!(await attempt("install Chromium", () => installChromium({ ci: inCi })))) return;
  const report = join(tmpdir(), `tidemark-browser-${process.pid}.json`);
  await suite("browser stories", {
    command: ["playwright", "test", "--config", "e2e/browser/playwright.config.ts"],
    env: { PLAYWRIGHT_JSON_OUTPUT_NAME: report },
    read: () => readPlaywright(report),
  });
};
await vitest("conformance");
if (built) await vitest("process", "folder" in plain ? { PLAIN_ROOTS: plain.folder } : {});
if (built) await vitest("faults");
// Last, beside no other suite: a page can be without news for so long that it says so.
if (built) await browser();
if (inCi && total.skipped > 0) console.log("FAIL in CI nothing may be skipped");
console.log(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
process.exitCode = total.failed > 0 || (inCi && total.skipped > 0) ? 1 : 0;
