import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { relative } from "node:path";
import { afterAll, expect } from "vitest";
import { childSeconds } from "./child-cpu.ts";
import { ROOT } from "./run-step.ts";

/**
 * Set-up of every test file: appends its CPU time to the file in CPU_FILE, one JSON object per line. Counted are this process,
 * which runs one file at a time, and its children that have ended.
 */

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  const stat = "/proc/self/stat";
  return (user + system) / 1e6 + (existsSync(stat) ? childSeconds(readFileSync(stat, "utf8")) : 0);
}

const into = process.env["CPU_FILE"];
if (into !== undefined) {
  const before = cpuSeconds();
  // Registered before the hooks of the test file, so it runs after them, when they have ended their processes.
  afterAll(() => {
    const file = relative(ROOT, expect.getState().testPath ?? "");
    appendFileSync(into, `${JSON.stringify({ file, cpuSeconds: cpuSeconds() - before })}\n`);
  });
}
