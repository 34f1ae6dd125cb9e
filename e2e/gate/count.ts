import { existsSync, readFileSync, rmSync } from "node:fs";
import { relative } from "node:path";
import { z } from "zod";
import { ROOT } from "./run-step.ts";
import type { MeasuredTest } from "./times.ts";

/** Numbers of tests, read from the JSON reports of the runners. */
export interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

/** A test that ran, or was skipped. */
export interface RanTest extends MeasuredTest {
  isPassed: boolean;
}

/** Results of a runner. Failures are repeated as text, because people often read only the first lines of a log. */
export interface Report extends Counts {
  failures: string[];
  /** Tests that passed only after a retry, in the same form. */
  unsteady: string[];
  /** Each test with its duration. */
  tests: RanTest[];
  /** CPU seconds of each file with its processes; empty where unknown. */
  cpuByFile: Readonly<Record<string, number>>;
}

const vitestReport = z.object({
  numPassedTests: z.number(),
  numFailedTests: z.number(),
  numPendingTests: z.number(),
  numTodoTests: z.number(),
  testResults: z.array(
    z.object({
      name: z.string(),
      status: z.string(),
      message: z.string().default(""),
      assertionResults: z.array(
        z.object({
          fullName: z.string(),
          status: z.string(),
          /** Milliseconds; missing for a test that did not run. */
          duration: z.number().nullish(),
          failureMessages: z.array(z.string()).nullish(),
        }),
      ),
    }),
  ),
});

/** Returns each failed test with the first lines of its message. A file that failed outside of its tests is listed by name. */
function failuresOf(report: z.infer<typeof vitestReport>): string[] {
  return report.testResults.flatMap((file) => {
    const failed = file.assertionResults.filter((test) => test.status === "failed");
    const name = relative(ROOT, file.name);
    if (file.status === "failed" && failed.length === 0) return [`${name}: ${firstLines(file.message)}`];
    return failed.map((test) => `${name} > ${test.fullName}: ${firstLines(test.failureMessages?.join("\n") ?? "")}`);
  });
}

const firstLines = (message: string) => message.split("\n").slice(0, 8).join("\n    ");

/** Returns the path at which `report-unsteady` writes beside a report. */
export const unsteadyOf = (file: string): string => `${file}.unsteady`;

/** Returns the path at which `record-cpu` writes beside a report. */
export const cpuOf = (file: string): string => `${file}.cpu`;

const cpuLine = z.object({ file: z.string(), cpuSeconds: z.number() });

/** Reads the lines of a file; none where it does not exist. */
const linesOf = (file: string): string[] => (existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : []);

/** Reads a report of Vitest; null when the runner wrote none, because it did not start any test. */
export function readVitest(file: string): Report | null {
  if (!existsSync(file)) return null;
  const report = vitestReport.parse(JSON.parse(readFileSync(file, "utf8")));
  const unsteady = linesOf(unsteadyOf(file)).map((line) => z.string().parse(JSON.parse(line)));
  const cpu = linesOf(cpuOf(file)).map((line) => cpuLine.parse(JSON.parse(line)));
  for (const read of [file, unsteadyOf(file), cpuOf(file)]) rmSync(read, { force: true });
  return {
    passed: report.numPassedTests,
    failed: report.numFailedTests,
    skipped: report.numPendingTests + report.numTodoTests,
    failures: failuresOf(report),
    unsteady,
    cpuByFile: Object.fromEntries(cpu.map(({ file: name, cpuSeconds }) => [name, cpuSeconds])),
    tests: report.testResults.flatMap((suite) =>
      suite.assertionResults.map(({ fullName, duration, status }) => ({
        file: relative(ROOT, suite.name),
        name: fullName,
        seconds: (duration ?? 0) / 1000,
        isPassed: status === "passed",
      })),
    ),
  };
}

const playwrightSpec = z.object({
  title: z.string(),
  file: z.string(),
  line: z.number(),
  tests: z.array(
    z.object({
      status: z.string(),
      results: z.array(
        z.object({
          duration: z.number().default(0),
          errors: z.array(z.object({ message: z.string().default("") })).default([]),
        }),
      ),
    }),
  ),
});

const playwrightSuite = z.object({
  specs: z.array(playwrightSpec).default([]),
  get suites() {
    return z.array(playwrightSuite).default([]);
  },
});

const playwrightReport = z.object({
  stats: z.object({ expected: z.number(), unexpected: z.number(), flaky: z.number(), skipped: z.number() }),
  suites: z.array(playwrightSuite).default([]),
  errors: z.array(z.object({ message: z.string().default("") })).default([]),
});

/** Returns each story with this outcome and the first lines of its errors. Suites nest, one level per describe block. */
function storiesThat(ended: "unexpected" | "flaky", suite: z.infer<typeof playwrightSuite>): string[] {
  const own = suite.specs.flatMap((spec) =>
    spec.tests
      .filter((test) => test.status === ended)
      .map((test) => {
        const messages = test.results.flatMap((result) => result.errors.map((error) => firstLines(error.message)));
        return `${spec.file}:${spec.line} > ${spec.title}: ${messages.join("\n    ")}`;
      }),
  );
  return [...own, ...suite.suites.flatMap((inner) => storiesThat(ended, inner))];
}

/** Returns every story with the total time of its tries. Playwright names files relative to its own folder. */
function measuredStories(suite: z.infer<typeof playwrightSuite>): RanTest[] {
  const own = suite.specs.map((spec) => ({
    file: `e2e/browser/${spec.file.split("/").at(-1) ?? ""}`,
    name: spec.title,
    seconds: spec.tests.flatMap(({ results }) => results).reduce((sum, one) => sum + one.duration, 0) / 1000,
    isPassed: spec.tests.every(({ status }) => status === "expected" || status === "flaky"),
  }));
  return [...own, ...suite.suites.flatMap(measuredStories)];
}

export function readPlaywright(file: string): Report | null {
  if (!existsSync(file)) return null;
  const { stats, suites, errors } = playwrightReport.parse(JSON.parse(readFileSync(file, "utf8")));
  rmSync(file);
  return {
    passed: stats.expected + stats.flaky,
    failed: stats.unexpected,
    skipped: stats.skipped,
    failures: [
      ...suites.flatMap((suite) => storiesThat("unexpected", suite)),
      ...errors.map((error) => firstLines(error.message)),
    ],
    unsteady: suites.flatMap((suite) => storiesThat("flaky", suite)),
    tests: suites.flatMap(measuredStories),
    cpuByFile: {},
  };
}

export const add = (a: Counts, b: Counts): Counts => ({
  passed: a.passed + b.passed,
  failed: a.failed + b.failed,
  skipped: a.skipped + b.skipped,
});
