import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { notPromised } from "../stage/json-lines.ts";
import { runOnce } from "../stage/run-once.ts";
import { IMPLEMENTATIONS, stageOver, type Staged } from "../stage/stage-over.ts";
import { ROOT } from "../stage/start-process.ts";
import { waitUntil } from "../stage/wait-until.ts";
import { writeCheckpoint } from "../stage/write-checkpoint.ts";
import { testedWorker } from "../stage/start-worker.ts";

/** The lines of long-running commands, and of those that need no store, beside what docs/json.md promises. */
const dir = mkdtempSync(join(tmpdir(), "tidemark-json-lines-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const typesOf = (lines: readonly string[]): string[] => lines.map((line) => String(JSON.parse(line).type));

const FIRST = { hub: "joined", alone: "alone" } as const;

describe.each(IMPLEMENTATIONS)("over %s", (implementation) => {
  let staged: Staged;
  beforeAll(async () => {
    staged = await stageOver(implementation);
  });
  afterAll(() => staged.close());

  test("an agent says nothing with --json that is not promised", async () => {
    const worker = await staged.startNode({ name: "one", run: "lines", flags: ["--json"] });
    writeCheckpoint({ folder: staged.folderOf("one"), step: 1, modelBytes: 100_000, optimizerBytes: 0, loss: 1 });
    await waitUntil("the checkpoint is safe", () => typesOf(worker.lines).includes("done"));
    await worker.stop();
    expect(notPromised(worker.lines)).toEqual([]);
    expect(typesOf(worker.lines)).toEqual(
      expect.arrayContaining([FIRST[implementation], "watching", "captured", "done", "stopping"]),
    );
  });

  test("a worker around a program neither", async () => {
    const program = [process.execPath, join(ROOT, "e2e/stage/training-program.ts"), staged.folderOf("two"), "1", "0"];
    const worker = await staged.startNode({ name: "two", run: "lines", flags: ["--json"], program });
    await worker.exited;
    // Lines of the program are passed on unchanged.
    const own = worker.lines.filter((line) => line.startsWith("{"));
    expect(notPromised(own)).toEqual([]);
    expect(typesOf(own)).toEqual(expect.arrayContaining(["resuming", "program-ended"]));
  });
});

test.each([
  ["version", ["version", "--json"], "version"],
  ["config", ["config", "cp", "--json"], "setting"],
  ["limit", ["limit", "--json"], "limits"],
  ["doctor", ["doctor", "--json"], "examined"],
  ["a command line that cannot be read", ["cp", "--json"], "fault"],
])("nor %s", async (_title, args, type) => {
  const { stdout, stderr } = await runOnce(testedWorker(), args, {
    env: { TIDEMARK_STATE: join(dir, "own") },
  });
  const lines = stdout.trimEnd().split("\n");
  expect(notPromised(lines)).toEqual([]);
  expect(typesOf(lines)).toContain(type);
  expect(stderr).toBe("");
});

test("the variable stands for the flag, in faults too", async () => {
  const { stdout, stderr } = await runOnce(testedWorker(), ["cp"], { env: { TIDEMARK_JSON: "1" } });
  expect(typesOf(stdout.trimEnd().split("\n"))).toEqual(["fault"]);
  expect(stderr).toBe("");
});

test("a flag of the program behind -- is not ours", async () => {
  const { stdout, stderr } = await runOnce(testedWorker(), ["run", "--", "train", "--json"]);
  expect(stdout).toBe("");
  expect(stderr).toContain("--to s3://bucket/prefix");
});
