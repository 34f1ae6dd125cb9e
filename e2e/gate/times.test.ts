import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readTimes, writeTimes } from "./times.ts";

let file = "";
beforeEach(() => {
  file = join(mkdtempSync(join(tmpdir(), "times-")), "times.json");
});
afterEach(() => rmSync(join(file, ".."), { recursive: true }));

test("keeps the stages, the fifty slowest tests, and what each file took", () => {
  const tests = Array.from({ length: 60 }, (_, at) => ({
    file: `f${at % 2}.test.ts`,
    name: `test ${at}`,
    seconds: at,
  }));
  writeTimes(
    {
      stages: [{ title: "unit tests", seconds: 12.345, cpuSeconds: 20.06 }],
      tests,
      cpuByFile: { "f0.test.ts": 1.26, "f1.test.ts": 30 },
    },
    file,
  );
  const read = readTimes(file);
  expect(read.stages).toEqual([{ title: "unit tests", seconds: 12.3, cpuSeconds: 20.1 }]);
  expect(read.slowest).toHaveLength(50);
  expect(read.slowest[0]).toEqual({ file: "f1.test.ts", name: "test 59", seconds: 59 });
  expect(read.files).toEqual({ "f1.test.ts": 900, "f0.test.ts": 870 });
  expect(Object.entries(read.cpuByFile)).toEqual([
    ["f1.test.ts", 30],
    ["f0.test.ts", 1.3],
  ]);
});

test("times that are missing or of another form are none", () => {
  expect(readTimes(file).files).toEqual({});
  writeFileSync(file, '{"files":"many"}');
  expect(readTimes(file).files).toEqual({});
});
