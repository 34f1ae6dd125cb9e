import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runOnce } from "../stage/run-once.ts";
import { IMPLEMENTATIONS, stageOver, type Staged } from "../stage/stage-over.ts";
import { ROOT } from "../stage/start-process.ts";
import { waitUntil } from "../stage/wait-until.ts";
import { writeCheckpoint } from "../stage/write-checkpoint.ts";
import { testedWorker } from "../stage/start-worker.ts";

/** Folders in a watched folder that Tidemark did not write: they are neither checkpoints nor moved nor removed. */
const said = (worker: { lines: readonly string[] }) => worker.lines.join("\n");
const NOTHING = [process.execPath, "-e", "0"];
const LONG_AGO = new Date(Date.UTC(2023, 1, 1));

describe.each(IMPLEMENTATIONS)("over %s", (implementation) => {
  let staged: Staged;
  beforeAll(async () => {
    staged = await stageOver(implementation);
  });
  afterAll(() => staged.close());

  /** A program that goes on from the highest `checkpoint-N`, as transformers' Trainer does, and ends with 42 when that is torn. */
  const train = (node: string, ...args: (string | number)[]) => [
    process.execPath,
    join(ROOT, "e2e/stage/training-program.ts"),
    staged.folderOf(node),
    ...args.map(String),
  ];

  const safeSteps = async (run: string): Promise<number[]> => (await staged.completeOf(run)).map(({ step }) => step);

  test("a person starts a run from an earlier step, once, and from the beginning; what is newer stays in the bucket", async () => {
    const node = { name: "back", run: "back" };
    const start = async (flags: string[], steps: number) => {
      const worker = await staged.startNode({ ...node, flags, program: train("back", steps) });
      const { code } = await worker.exited;
      expect(code, said(worker)).toBe(0);
      return said(worker);
    };
    // One at a time: of several that are finished together only the newest is taken.
    for (let step = 10; step <= 30; step += 10) await start([], 1);
    expect(await start(["--from", "10"], 0)).toContain("starts at 10");
    // The same command again does not undo what was written since.
    expect(await start(["--from", "10"], 1)).toContain("starts at 10");
    const again = await start(["--from", "10"], 0);
    expect(again).toContain("starts at 20");
    expect(again).toContain("was started from step 10 before (--from). It goes on from step 20.");
    expect(await start(["--from", "none"], 0)).toContain("starts at 0");
    expect(await start(["--from", "30"], 0)).toContain("starts at 30");
    expect((await safeSteps("back")).toSorted((a, b) => a - b)).toEqual([10, 20, 20, 30]);
    const missing = await staged.startNode({ ...node, flags: ["--from", "7"], program: NOTHING });
    expect(await missing.exited).toMatchObject({ code: 3 });
    expect(said(missing)).toContain("it has no complete checkpoint of step 7; the newest are ");
  });

  test("latest-complete goes on from the bucket's newest, also where a newer one lies on this disk", async () => {
    const folder = staged.folderOf("newest");
    const first = await staged.startNode({ name: "newest", run: "newest", program: train("newest", 1) });
    expect(await first.exited).toMatchObject({ code: 0 });
    writeCheckpoint({ folder, step: 50, modelBytes: 4096, optimizerBytes: 0, loss: 1 });
    const worker = await staged.startNode({
      name: "newest",
      run: "newest",
      flags: ["--from", "latest-complete"],
      program: NOTHING,
    });
    expect(await worker.exited).toMatchObject({ code: 0 });
    expect(said(worker)).toContain("newest goes on from step 10.");
    expect(existsSync(join(folder, ".set-aside-checkpoint-50"))).toBe(true);
  });

  test("weights that the program saves into the folder itself are the run's final model: kept, named, restored, never gone on from", async () => {
    const folder = staged.folderOf("final");
    const fixtures = mkdtempSync(join(staged.dir, "fixtures-"));
    execFileSync("tar", ["xzf", join(ROOT, "e2e/stage/fixtures/real-checkpoints.tar.gz"), "-C", fixtures]);
    const source = join(fixtures, "transformers-trainer/checkpoint-4");
    // As `trainer.train()` and `trainer.save_model()` leave it.
    const model = ["config.json", "generation_config.json", "model.safetensors", "training_args.bin"];
    const script = `const fs = require("node:fs"), path = require("node:path");
    const [source, folder] = [${JSON.stringify(source)}, ${JSON.stringify(folder)}];
    fs.cpSync(source, path.join(folder, "checkpoint-4"), { recursive: true });
    for (const name of ${JSON.stringify(model)}) fs.copyFileSync(path.join(source, name), path.join(folder, name));`;
    const first = await staged.startNode({ name: "final", run: "final", program: [process.execPath, "-e", script] });
    expect(await first.exited).toMatchObject({ code: 0 });
    expect(said(first)).toContain("Safe: the final model of final");
    expect(said(first)).toContain("Safe: final step 4");
    const checkpoints = await staged.completeOf("final");
    expect(checkpoints.map(({ role, step, isNewest }) => [role, step, isNewest])).toEqual(
      expect.arrayContaining([
        ["final-model", 4, false],
        ["checkpoint", 4, true],
      ]),
    );

    const second = await staged.startNode({
      name: "final-too",
      run: "final",
      flags: [],
      program: [process.execPath, "-e", "setInterval(() => 0, 1000)"],
    });
    await waitUntil("it goes on", () => said(second).includes("final goes on from step 4."));
    expect(readdirSync(staged.folderOf("final-too"))).toEqual(["checkpoint-4"]);
    const out = join(staged.dir, "out", "model");
    const state = staged.stateOf("final-too");
    expect(await runOnce(testedWorker(), ["restore", "final@final", out, "--state", state])).toMatchObject({ code: 0 });
    expect(readdirSync(out).toSorted()).toEqual(model);
    for (const name of model) expect(readFileSync(join(out, name)).equals(readFileSync(join(source, name)))).toBe(true);
    await second.stop();
  });

  // The rest asks the hub, or the bucket, nothing that is not asked over both above.
  if (implementation === "alone") return;

  /** Writes a file of long ago. */
  function write(node: string, path: string, text: string): void {
    const place = join(staged.folderOf(node), path);
    mkdirSync(join(place, ".."), { recursive: true });
    writeFileSync(place, text);
    utimesSync(place, LONG_AGO, LONG_AGO);
  }

  test("a tokenizer and a data set stay byte for byte where they are through every start, and are no checkpoints", async () => {
    const files = {
      "tokenizer-32000/config.json": "{}",
      "tokenizer-32000/tokenizer.json": '{"version": "1.0"}',
      "data_2026/train.bin": "\u0001\u0002".repeat(2_000),
    };
    for (const [path, text] of Object.entries(files)) write("owner", path, text);
    for (let start = 1; start <= 3; start++) {
      const worker = await staged.startNode({ name: "owner", run: "owner", program: train("owner", 1) });
      expect(await worker.exited).toMatchObject({ code: 0 });
      expect(said(worker)).toContain(`starts at ${(start - 1) * 10}`);
      expect(said(worker)).not.toContain("aside");
      const folder = staged.folderOf("owner");
      expect(
        readdirSync(folder)
          .filter((name) => !name.startsWith("checkpoint-"))
          .toSorted(),
      ).toEqual(["data_2026", "tokenizer-32000"]);
      for (const [path, text] of Object.entries(files)) expect(readFileSync(join(folder, path), "utf8")).toBe(text);
    }
    expect((await safeSteps("owner")).toSorted((a, b) => a - b)).toEqual([10, 20, 30]);
  });

  test("what is no checkpoint is said once, with its files and the way out, and the hub knows", async () => {
    write("told", "samples_2026/samples.json", "[]");
    const worker = await staged.startNode({ name: "told", run: "told", flags: ["--settle", "20ms"] });
    const sentence = "holds no file in a checkpoint format (samples.json)";
    await waitUntil("it is said", () => said(worker).includes(sentence));
    expect(said(worker)).toContain("--pattern");
    await waitUntil("the hub knows", async () => {
      const { rows } = await staged
        .stage()
        .client.events.list.query({ nodeId: null, run: null, cursor: null, limit: 50 });
      return rows.some(({ kind, text }) => kind === "capture-refused" && text.includes("samples_2026"));
    });
    await worker.stop();
  });

  test("samples beside the Trainer's checkpoint-4 are no step 2026: node and hub name the same newest, and a new node gets it", async () => {
    const fixtures = mkdtempSync(join(staged.dir, "fixtures-"));
    execFileSync("tar", ["xzf", join(ROOT, "e2e/stage/fixtures/real-checkpoints.tar.gz"), "-C", fixtures]);
    const folder = staged.folderOf("sampled");
    const first = await staged.startNode({
      name: "sampled",
      run: "sampled",
      program: [
        process.execPath,
        "-e",
        `const fs = require("node:fs");
      fs.cpSync(${JSON.stringify(join(fixtures, "transformers-trainer/checkpoint-4"))}, ${JSON.stringify(join(folder, "checkpoint-4"))}, { recursive: true });
      fs.mkdirSync(${JSON.stringify(join(folder, "samples_2026"))});
      fs.writeFileSync(${JSON.stringify(join(folder, "samples_2026/samples.json"))}, '["one"]');`,
      ],
    });
    expect(await first.exited).toMatchObject({ code: 0 });
    expect(said(first)).toContain("sampled: safe up to step 4; nothing waits.");
    expect(await safeSteps("sampled")).toEqual([4]);
    const second = await staged.startNode({ name: "sampled-too", run: "sampled", program: NOTHING });
    expect(await second.exited).toMatchObject({ code: 0 });
    expect(said(second)).toContain("sampled goes on from step 4.");
    expect(readdirSync(staged.folderOf("sampled-too"))).toEqual(["checkpoint-4"]);
  });

  test("a torn checkpoint that the program had begun is moved aside, kept through later starts, and listed by status", async () => {
    const folder = staged.folderOf("torn");
    const worker = await staged.startNode({ name: "torn", run: "torn", program: train("torn", 1) });
    expect(await worker.exited).toMatchObject({ code: 0 });
    // Half of step 20, as a kill leaves it; and one from before, which nobody here wrote.
    mkdirSync(join(folder, "checkpoint-20"));
    writeFileSync(join(folder, "checkpoint-20", "model.safetensors"), "cut");
    for (let start = 1; start <= 2; start++) {
      const again = await staged.startNode({ name: "torn", run: "torn", program: train("torn", 0) });
      expect(await again.exited).toMatchObject({ code: 0 });
      const kept = join(folder, ".set-aside-unfinished-checkpoint-20", "model.safetensors");
      expect(readFileSync(kept, "utf8")).toBe("cut");
    }
    const status = await runOnce(testedWorker(), ["status", "--state", staged.stateOf("torn")]);
    expect(status.stdout).toContain("Moved aside: checkpoint-20, 1 file, 3 B, at ");
  });

  test("a torn checkpoint that was there before the run is watched stays, and is named", async () => {
    write("older", "checkpoint-900/model.safetensors", "cut");
    const worker = await staged.startNode({ name: "older", run: "older", program: NOTHING });
    expect(await worker.exited).toMatchObject({ code: 0 });
    expect(said(worker)).toContain("nothing shows that older wrote it");
    expect(readdirSync(staged.folderOf("older"))).toEqual(["checkpoint-900"]);
  });

  test("a restore over a folder of the same name keeps what is not in the bucket", async () => {
    const folder = staged.folderOf("over");
    mkdirSync(folder, { recursive: true });
    const worker = await staged.startNode({ name: "over", run: "over" });
    writeCheckpoint({ folder, step: 10, modelBytes: 4096, optimizerBytes: 0, loss: 1 });
    await waitUntil("it is safe", () => said(worker).includes("Safe: over step 10"));
    const out = join(staged.dir, "restored", "model");
    mkdirSync(out, { recursive: true });
    writeFileSync(join(out, "mine.txt"), "mine");
    const state = staged.stateOf("over");
    const restore = () => runOnce(testedWorker(), ["restore", "over@10", out, "--state", state]);
    expect(await restore()).toMatchObject({ code: 0 });
    expect(await restore()).toMatchObject({ code: 0 });
    expect(readdirSync(join(out, "..")).toSorted()).toEqual([".set-aside-model", "model"]);
    expect(readFileSync(join(out, "..", ".set-aside-model", "mine.txt"), "utf8")).toBe("mine");
    expect(said(worker)).toContain("Kept what was there before the restore as ");
    await worker.stop();
  });

  test("when a program fails at once after a restore, the complete step before it is offered", async () => {
    const node = { name: "fails", run: "fails" };
    for (let starts = 0; starts < 2; starts++) {
      const worker = await staged.startNode({ ...node, program: train("fails", 1) });
      expect(await worker.exited).toMatchObject({ code: 0 });
    }
    const failing = await staged.startNode({ ...node, program: [process.execPath, "-e", "process.exit(1)"] });
    expect(await failing.exited).toMatchObject({ code: 1 });
    expect(said(failing)).toContain("The complete step before it is 10; `tidemark run --from 10` starts there.");
  });
});
