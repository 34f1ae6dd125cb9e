import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { cpuOf, readPlaywright, readVitest, unsteadyOf } from "./count.ts";
import { ROOT } from "./run-step.ts";

/** The reports are those of the real runner: a field that it renames is noticed here. */

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tidemark-count-"));
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
});
afterEach(() => rmSync(folder, { recursive: true }));

function tellStories(source: string): Promise<string> {
  writeFileSync(join(folder, "tide.spec.ts"), `import { expect, test } from "@playwright/test";\n${source}`);
  const report = join(folder, "report.json");
  return new Promise((resolve) => {
    execFile(
      join(ROOT, "node_modules/.bin/playwright"),
      ["test", "--reporter=json"],
      { cwd: folder, env: { ...process.env, PLAYWRIGHT_JSON_OUTPUT_NAME: report } },
      () => resolve(report),
    );
  });
}

test("a story that fails is named, with its place and the first lines of why", async () => {
  const report = await tellStories(`
    test("ebb", () => {});
    test.describe("a spring tide", () => {
      test("flood", () => expect("low").toBe("high"));
    });
    test.skip("slack water", () => {});
  `);
  const read = readPlaywright(report);
  expect(read).toMatchObject({ passed: 1, failed: 1, skipped: 1 });
  expect(read?.failures).toHaveLength(1);
  expect(read?.failures[0]).toMatch(/^tide\.spec\.ts:\d+ > flood: [^]*high/);
  const passed = read?.tests.filter(({ isPassed }) => isPassed);
  expect(passed?.map(({ name }) => name)).toEqual(["ebb"]);
});

test("a story that passes when it is told again passed, and is named with why it did not at once", async () => {
  const report = await tellStories(`
    test.describe.configure({ retries: 1 });
    test("slack", ({}, { retry }) => expect(retry).toBe(1));
  `);
  const read = readPlaywright(report);
  expect(read).toMatchObject({ passed: 1, failed: 0, failures: [], tests: [{ name: "slack", isPassed: true }] });
  expect(read?.unsteady).toEqual([expect.stringMatching(/^tide\.spec\.ts:\d+ > slack: [^]*Expected: .*1/)]);
});

test("stories that could not be read are a failure in words", async () => {
  const read = readPlaywright(await tellStories("throw new Error('no moon');"));
  expect(read?.failures.join("\n")).toContain("no moon");
});

test("a test of vitest that passes when it is tried again passed, and is named too", async () => {
  writeFileSync(
    join(folder, "tide.test.ts"),
    `import { expect, test } from "vitest";
     let tries = 0;
     test("slack", () => expect(++tries).toBe(2));
     test("ebb", () => undefined);
     test.fails("a tide that never comes", () => expect(1).toBe(2));`,
  );
  const setupFiles = [join(ROOT, "e2e/gate/record-cpu.ts")];
  writeFileSync(
    join(folder, "vitest.config.mjs"),
    `export default { test: { setupFiles: ${JSON.stringify(setupFiles)} } };`,
  );
  const report = join(folder, "report.json");
  await new Promise<void>((resolve) => {
    execFile(
      join(ROOT, "node_modules/.bin/vitest"),
      [
        "run",
        "--retry=1",
        "--reporter=json",
        `--outputFile.json=${report}`,
        `--reporter=${join(ROOT, "e2e/gate/report-unsteady.ts")}`,
      ],
      { cwd: folder, env: { ...process.env, UNSTEADY_FILE: unsteadyOf(report), CPU_FILE: cpuOf(report) } },
      () => resolve(),
    );
  });
  const read = readVitest(report);
  expect(read).toMatchObject({ passed: 3, failed: 0, failures: [] });
  const [cpu] = Object.entries(read?.cpuByFile ?? {});
  expect(cpu).toEqual([expect.stringContaining("tide.test.ts"), expect.any(Number)]);
  expect(cpu?.[1]).toBeGreaterThan(0);
  expect(read?.unsteady).toEqual([expect.stringContaining("tide.test.ts > slack: expected 1 to be 2")]);
});

test("no report is told apart from an empty one", () => {
  expect(readPlaywright(join(folder, "none.json"))).toBeNull();
});
