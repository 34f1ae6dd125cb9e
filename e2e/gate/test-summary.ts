import { add, type Counts, type Report } from "./count.ts";
import { inCi, runStep, type Step, tell } from "./run-step.ts";
import { type MeasuredTest, type Times, writeTimes } from "./times.ts";

/** Results of a test run so far: counts, and the duration of each stage and test. */
export interface TestSummary {
  counts: () => Counts;
  add: (counts: Counts) => void;
  /** Counts a failure that belongs to no test, and prints the reason. */
  fail: (title: string, why: string) => void;
  /** Runs work that is no test, such as an installation. Resolves with whether it succeeded. */
  attempt: (title: string, work: () => Promise<unknown>) => Promise<boolean>;
  /** Runs a suite, prints its result, and counts its tests. */
  suite: (title: string, run: Omit<Step, "title"> & { read: () => Report | null }) => Promise<void>;
  /** Prints the counts and sets the exit code. In CI a skipped test is a failure. */
  end: (kept: "keep the times" | "part of the tests") => void;
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
const secondsSince = (startedAt: number): number => (performance.now() - startedAt) / 1000;

export function startSummary(): TestSummary {
  let total: Counts = { passed: 0, failed: 0, skipped: 0 };
  const startedAt = performance.now();
  const stages: Times["stages"] = [];
  const tests: MeasuredTest[] = [];
  const cpuByFile: Record<string, number> = {};
  const fail = (title: string, why: string): void => {
    console.log(`FAIL ${title}: ${why}`);
    total = add(total, { passed: 0, failed: 1, skipped: 0 });
  };
  return {
    counts: () => total,
    add: (counts) => {
      total = add(total, counts);
    },
    fail,
    attempt: async (title, work) => {
      const began = performance.now();
      try {
        await work();
      } catch (error) {
        fail(title, messageOf(error));
        return false;
      }
      const seconds = secondsSince(began);
      stages.push({ title, seconds, cpuSeconds: null });
      console.log(`ok   ${title} (${seconds.toFixed(1)} s)`);
      return true;
    },
    suite: async (title, run) => {
      console.log(`     begins: ${title}`);
      const env = { ...run.env, ...(inCi ? { CI: "true" } : {}) };
      const result = await runStep({ title, command: run.command, env });
      const report = run.read();
      stages.push({ title, seconds: result.seconds, cpuSeconds: result.cpuSeconds });
      tell(result, report ?? undefined);
      if (report === null) {
        fail(title, "the runner wrote no report");
        return;
      }
      tests.push(...report.tests);
      Object.assign(cpuByFile, report.cpuByFile);
      total = add(total, report);
      if (!result.ok && report.failed === 0) fail(title, "the runner failed outside a test");
    },
    end: (kept) => {
      const seconds = secondsSince(startedAt);
      if (kept === "keep the times") {
        const file = writeTimes({
          stages: [...stages, { title: "everything", seconds, cpuSeconds: null }],
          tests,
          cpuByFile,
        });
        console.log(
          `     ${(seconds / 60).toFixed(1)} minutes; how long each stage and the slowest tests took: ${file}`,
        );
      }
      if (inCi && total.skipped > 0) console.log("FAIL in CI nothing may be skipped");
      console.log(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
      process.exitCode = total.failed > 0 || (inCi && total.skipped > 0) ? 1 : 0;
    },
  };
}
