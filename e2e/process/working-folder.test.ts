import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { IMPLEMENTATIONS, stageOver, type Staged } from "../stage/stage-over.ts";
import { program, said } from "../stage/write-files-program.ts";

/** `tidemark run` without `--watch`: the working folder is watched for what the program writes there. */
describe.each(IMPLEMENTATIONS)("with %s", (implementation) => {
  let staged: Staged;
  beforeAll(async () => {
    staged = await stageOver(implementation);
  });
  afterAll(() => staged.close());

  const BASE = "b".repeat(20_000);
  /** Writes the files that a person brings: a model to begin with, in several places, and data. */
  function bring(folder: string): void {
    for (const [name, text] of Object.entries({
      "base/model.pt": BASE,
      "model.safetensors": BASE,
      "ckpt.pt": BASE,
      "pretrained/checkpoint-5000/model.safetensors": BASE,
      "data/step_900/model.pt": BASE,
    })) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, name), text);
    }
  }
  /** Prepares data and a tokenizer, fetches a model, and writes one step after the step from which it goes on. */
  const TRAINING = program(`const fs = require("node:fs");
    fs.mkdirSync("data/step_999", { recursive: true });
    fs.writeFileSync("data/step_999/model.pt", "d".repeat(9_000));
    fs.writeFileSync("tokenizer_config.json", "{}");
    fs.writeFileSync("downloaded.pt", Buffer.concat([Buffer.from([0x80, 2]), Buffer.alloc(9_000)]));
    const step = Number(process.env.TIDEMARK_RESUME_STEP || 0) + 10;
    fs.mkdirSync("out/step_" + step, { recursive: true });
    fs.writeFileSync("out/step_" + step + "/model.pt", String(step).repeat(4_000));
    console.log("wrote " + step + " after [" + process.env.TIDEMARK_RESUME_PATH + "]");`);
  const flags = ["--settle", "50ms", "--require-safe"];

  test("what the program writes is kept, what a person brought is not, and the next node goes on", async () => {
    const first = staged.folderOf("here");
    bring(first);
    const worker = await staged.startNode({ name: "here", run: "here", isThere: true, program: TRAINING, flags });
    expect((await worker.exited).code, said(worker)).toBe(0);
    expect(said(worker)).toContain("data/step_999/model.pt");
    expect(said(worker)).toContain(
      `Watching the working folder ${first} for checkpoints of here that the program writes there`,
    );
    expect(said(worker)).toContain("wrote 10 after []");
    expect((await staged.completeOf("here")).map(({ step, place }) => [step, place?.path])).toEqual([
      [10, "out/step_10"],
    ]);

    const second = staged.folderOf("there");
    bring(second);
    const next = await staged.startNode({ name: "there", run: "here", isThere: true, program: TRAINING, flags });
    expect((await next.exited).code, said(next)).toBe(0);
    expect(said(next)).toContain(`wrote 20 after [${join(second, "out/step_10")}]`);
    expect(readFileSync(join(second, "ckpt.pt"), "utf8")).toBe(BASE);
    expect((await staged.completeOf("here")).map(({ step }) => step).toSorted((a, b) => a - b)).toEqual([10, 20]);
  });

  test("a disk that outlives the state of the worker: a checkpoint that was there before is kept aside, not lost", async () => {
    const folder = staged.folderOf("volume");
    const run = "volume";
    const writing = program(`require("node:fs").writeFileSync("ckpt.pt", "1".repeat(9_000));`);
    const one = await staged.startNode({ name: "volume", run, isThere: true, program: writing, flags });
    expect((await one.exited).code, said(one)).toBe(0);
    const [stored] = await staged.completeOf(run);
    expect(stored?.place?.path).toBe("ckpt.pt");
    // Written after the newest one in the bucket, by nobody that a worker knows.
    writeFileSync(join(folder, "ckpt.pt"), "n".repeat(9_000));
    const reading = program(`console.log("finds " + require("node:fs").readFileSync("ckpt.pt", "utf8")[0]);`);
    const again = { name: "volume-2", watch: folder, run, isThere: true, program: reading, flags } as const;
    const two = await staged.startNode(again);
    expect((await two.exited).code, said(two)).toBe(0);
    expect(said(two)).toContain("finds 1");
    expect(said(two)).toContain(`Kept what was there before the restore as ${join(folder, ".set-aside-ckpt.pt")}`);
    expect(readFileSync(join(folder, ".set-aside-ckpt.pt"), "utf8")[0]).toBe("n");
  });

  test("the root of the disk is not watched by default, and the sentence names the flag", async () => {
    const worker = await staged.startNode({
      name: "root",
      watch: "/",
      run: "root",
      isThere: true,
      program: program("0"),
    });
    expect((await worker.exited).code).toBe(2);
    expect(said(worker)).toContain("--watch DIR");
  });
});
