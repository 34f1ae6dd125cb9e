import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { z } from "zod";
import { ROOT } from "./run-step.ts";

/** Stores the durations of stages and tests in `.tools/times.json`, for people and for `npm run test:near`. */

const FILE = join(ROOT, ".tools/times.json");
const SLOWEST = 50;

const measured = z.object({ seconds: z.number(), file: z.string(), name: z.string() });
/** A test with its file relative to the repository. */
export type MeasuredTest = z.infer<typeof measured>;

const times = z.object({
  stages: z.array(
    z.object({ title: z.string(), seconds: z.number(), cpuSeconds: z.number().nullable().default(null) }),
  ),
  slowest: z.array(measured),
  /** Total seconds of the tests of each file. */
  files: z.record(z.string(), z.number()),
  /** CPU seconds of each test file with its processes. Unit tests and browser stories are not measured by file. */
  cpuByFile: z.record(z.string(), z.number()).default({}),
});
export type Times = z.infer<typeof times>;

const NONE: Times = { stages: [], slowest: [], files: {}, cpuByFile: {} };
const rounded = (seconds: number): number => Math.round(seconds * 10) / 10;

/** Returns the measurements of the last run; empty before the first one. */
export function readTimes(file = FILE): Times {
  if (!existsSync(file)) return NONE;
  const read = times.safeParse(JSON.parse(readFileSync(file, "utf8")));
  return read.success ? read.data : NONE;
}

/** Sums the tests of each file. */
export function secondsByFile(tests: readonly MeasuredTest[]): Record<string, number> {
  const sums = new Map<string, number>();
  for (const { file, seconds } of tests) sums.set(file, (sums.get(file) ?? 0) + seconds);
  return largestFirst([...sums]);
}

const largestFirst = (entries: readonly [string, number][]): Record<string, number> =>
  Object.fromEntries(entries.toSorted((a, b) => b[1] - a[1]).map(([name, seconds]) => [name, rounded(seconds)]));

/** Writes the times of a complete run and returns the path of the file. */
export function writeTimes(
  given: { stages: Times["stages"]; tests: readonly MeasuredTest[]; cpuByFile: Times["cpuByFile"] },
  file = FILE,
): string {
  const slowest = given.tests.toSorted((a, b) => b.seconds - a.seconds).slice(0, SLOWEST);
  const written: Times = {
    stages: given.stages.map(({ title, seconds, cpuSeconds }) => ({
      title,
      seconds: rounded(seconds),
      cpuSeconds: cpuSeconds === null ? null : rounded(cpuSeconds),
    })),
    slowest: slowest.map((test) => ({ ...test, seconds: rounded(test.seconds) })),
    files: secondsByFile(given.tests),
    cpuByFile: largestFirst(Object.entries(given.cpuByFile)),
  };
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(written, null, 2)}\n`);
  return file;
}
