import { existsSync, readFileSync, rmSync } from "node:fs";
import { z } from "zod";

/** How many tests ran, read from the runners' own JSON reports. */
export interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

const vitestReport = z.object({
  numPassedTests: z.number(),
  numFailedTests: z.number(),
  numPendingTests: z.number(),
  numTodoTests: z.number(),
});

/** Null when the runner wrote no report: it did not get as far as running a test. */
export function readVitest(file: string): Counts | null {
  if (!existsSync(file)) return null;
  const report = vitestReport.parse(JSON.parse(readFileSync(file, "utf8")));
  rmSync(file);
  return {
    passed: report.numPassedTests,
    failed: report.numFailedTests,
    skipped: report.numPendingTests + report.numTodoTests,
  };
}

const playwrightReport = z.object({
  stats: z.object({ expected: z.number(), unexpected: z.number(), flaky: z.number(), skipped: z.number() }),
});

/** A flaky story counts as failed: it failed once. */
export function readPlaywright(file: string): Counts | null {
  if (!existsSync(file)) return null;
  const { stats } = playwrightReport.parse(JSON.parse(readFileSync(file, "utf8")));
  rmSync(file);
  return { passed: stats.expected, failed: stats.unexpected + stats.flaky, skipped: stats.skipped };
}

export const add = (a: Counts, b: Counts): Counts => ({
  passed: a.passed + b.passed,
  failed: a.failed + b.failed,
  skipped: a.skipped + b.skipped,
});
