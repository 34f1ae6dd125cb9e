import { mkdirSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runName } from "#protocol/base/names.ts";
import { IMPLEMENTATIONS, stageOver, type Staged } from "../stage/stage-over.ts";
import { armFault, clearFaults } from "../stage/store-control.ts";
import { waitUntil } from "../stage/wait-until.ts";
import { writeCheckpoint } from "../stage/write-checkpoint.ts";

/** What `tidemark run` goes on from, and what it leaves on the disk of those who come to it with checkpoints of their own. */
const said = (worker: { lines: readonly string[] }) => worker.lines.join("\n");
const program = (script: string): string[] => [process.execPath, "-e", script];
const NOTHING = program("0");

/** Files that say nothing of whether they are all. */
function writePlain(folder: string, step: number, writtenAt: Date): void {
  const path = join(folder, `step_${step}`);
  mkdirSync(path, { recursive: true });
  for (const name of ["model.pt", "optimizer.pt"]) {
    writeFileSync(join(path, name), `${name} of ${step}`);
    utimesSync(join(path, name), writtenAt, writtenAt);
  }
}

describe.each(IMPLEMENTATIONS)("over %s", (implementation) => {
  let staged: Staged;
  beforeAll(async () => {
    staged = await stageOver(implementation);
  });
  afterAll(() => staged.close());

  async function safeSteps(run: string): Promise<number[]> {
    return (await staged.completeOf(run)).map(({ step }) => step);
  }

  test("checkpoints from before Tidemark are gone on from, made safe, and all still there", async () => {
    const folder = staged.folderOf("mover");
    const steps = [100, 200, 300];
    for (const step of steps) writePlain(folder, step, new Date(Date.UTC(2023, 1, 1, step / 100)));
    const worker = await staged.startNode({ name: "mover", run: "mover", program: NOTHING });
    expect(await worker.exited).toMatchObject({ code: 0 });
    expect(said(worker)).toContain("mover goes on from step 300.");
    expect(readdirSync(folder).toSorted()).toEqual(steps.map((step) => `step_${step}`));
    expect(await safeSteps("mover")).toContain(300);
  });

  test("what may be whole is set aside and kept, also when training has come further", async () => {
    const folder = staged.folderOf("doubt");
    const first = await staged.startNode({ name: "doubt", run: "doubt", program: NOTHING });
    expect(await first.exited).toMatchObject({ code: 0 });
    writePlain(folder, 100, new Date());
    const second = await staged.startNode({ name: "doubt", run: "doubt", program: NOTHING });
    expect(await second.exited).toMatchObject({ code: 0 });
    expect(said(second)).toContain("nothing says whether it was finished");
    expect(readdirSync(folder)).toEqual([".set-aside-step_100"]);
    writeCheckpoint({ folder, step: 50, modelBytes: 4096, optimizerBytes: 0, loss: 1 });
    const third = await staged.startNode({ name: "doubt", run: "doubt", program: NOTHING });
    expect(await third.exited).toMatchObject({ code: 0 });
    expect(await safeSteps("doubt")).toEqual([50]);
    writeCheckpoint({ folder, step: 150, modelBytes: 4096, optimizerBytes: 0, loss: 1 });
    const fourth = await staged.startNode({ name: "doubt", run: "doubt", program: NOTHING });
    expect(await fourth.exited).toMatchObject({ code: 0 });
    expect(await safeSteps("doubt")).toContain(150);
    expect(readdirSync(folder)).toContain(".set-aside-step_100");
    const fifth = await staged.startNode({ name: "doubt", run: "doubt", program: NOTHING });
    expect(await fifth.exited).toMatchObject({ code: 0 });
    // It is not in the bucket: a person removes it.
    expect(readdirSync(folder)).toContain(".set-aside-step_100");
  });

  test("a checkpoint that is damaged in the store is passed over for the one before it", async () => {
    const folder = staged.folderOf("worn");
    const node = { name: "worn", run: "worn" };
    const first = await staged.startNode({
      ...node,
      program: program(`console.log("trains"); setInterval(() => 0, 1000);`),
    });
    await waitUntil("it trains", () => said(first).includes("trains"));
    for (const step of [90, 100]) {
      writeCheckpoint({ folder, step, modelBytes: 8_000_000, optimizerBytes: 0, loss: 1 });
      await waitUntil(`step ${step} is safe`, async () => (await safeSteps("worn")).includes(step));
    }
    await first.stop("SIGKILL");
    rmSync(folder, { recursive: true });
    const { attempt } = (await staged.manifestsOf("worn")).find(({ step }) => step === 100) ?? {};
    await armFault(staged.store, {
      op: "GetObject",
      keyPattern: `*${attempt}*model.safetensors`,
      action: { kind: "flip", side: "response", offset: 1_000 },
    });
    const second = await staged.startNode({ ...node, program: NOTHING });
    expect(await second.exited).toMatchObject({ code: 0 });
    await clearFaults(staged.store);
    expect(said(second)).toContain("worn goes on from step 90.");
  });

  if (implementation !== "hub") return;

  test("what was lost is counted from the checkpoint that could be restored, not from a damaged newer one", async () => {
    const rows = await staged.stage().client.losses.list.query({
      run: runName.parse("worn"),
      nodeId: null,
      before: null,
      limit: 10,
    });
    expect(rows).toMatchObject([{ fromStep: 90 }]);
    // Its program says no steps: it may have come further than its last checkpoint.
    expect(rows[0]?.lostSteps).toBeGreaterThanOrEqual(10);
  });

  test("a program that takes longer than the grace keeps nobody from uploading, from the last words and from saying goodbye", async () => {
    const folder = staged.folderOf("slow");
    const script = `process.on("SIGTERM", () => console.log("not yet")); setInterval(() => 0, 1000); console.log("trains as " + process.pid);`;
    const worker = await staged.startNode({
      name: "slow",
      run: "slow",
      flags: ["--grace", "8s", "--limit-up", "4MB"],
      program: program(script),
    });
    await waitUntil("it trains", () => /trains as (\d+)/.exec(said(worker))?.[1]);
    writeCheckpoint({ folder, step: 100, modelBytes: 200_000_000, optimizerBytes: 0, loss: 1 });
    await waitUntil("the large one moves", () => said(worker).includes("Captured slow step 100"));
    writeCheckpoint({ folder, step: 200, modelBytes: 4096, optimizerBytes: 0, loss: 1 });
    await waitUntil("the small one waits", () => said(worker).includes("Captured slow step 200"));
    expect(await worker.stop("SIGTERM")).toMatchObject({ code: 143 });
    expect(said(worker)).toContain("not yet");
    expect(said(worker)).toContain("did not end within --grace 8 s and was killed");
    expect(said(worker)).toContain("Safe: slow step 200");
    expect(await safeSteps("slow")).toEqual([200]);
    expect(said(worker)).toContain("slow: safe up to step 200; nothing waits.");
    const node = (await staged.stage().client.nodes.list.query()).find(({ name }) => name === "slow");
    expect(node?.state).toBe("offline");
  });

  test("what a node had before another took its run over is never made safe, also when the hub is slow to say so", async () => {
    const write = (node: string, step: number) =>
      writeCheckpoint({ folder: staged.folderOf(node), step, modelBytes: 4096, optimizerBytes: 0, loss: 1 });
    const begin = async (name: string, step: number) => {
      const held = program(`const { existsSync } = require("node:fs");
      setInterval(() => existsSync(${JSON.stringify(join(staged.folderOf(name), "over"))}) && process.exit(0), 20);
      console.log("trains");`);
      const worker = await staged.startNode({ name, run: "two", program: held });
      await waitUntil("it trains", () => said(worker).includes("trains"));
      write(name, step);
      writeFileSync(join(staged.folderOf(name), "over"), "");
      expect(await worker.exited).toMatchObject({ code: 0 });
    };
    await begin("left", 100);
    await begin("taker", 110);
    expect(await safeSteps("two")).toContain(110);
    // Finished when the first node died, and not taken.
    write("left", 900);
    await staged.stage().killHub();
    const worker = await staged.startNode({ name: "left", run: "two", program: NOTHING });
    const until = performance.now() + 4_000;
    await waitUntil("a watcher would have found it, had it been let", () => performance.now() >= until);
    await staged.stage().startHubAgain();
    expect(await worker.exited).toMatchObject({ code: 0 });
    expect(said(worker)).toContain("two goes on from step 110.");
    expect(said(worker)).not.toContain("Captured two step 900");
    expect(await safeSteps("two")).toEqual([110, 100]);
  });

  test("a program that fails while the hub is away is started again from what lies here", async () => {
    const folder = staged.folderOf("alone");
    // Ends with 1 when it is told to, once; then with 0.
    const script = `const fs = require("node:fs"), path = require("node:path");
    const [fail, over] = ["fail", "over"].map((name) => path.join(${JSON.stringify(folder)}, name));
    console.log("resumes at " + process.env.TIDEMARK_RESUME_STEP);
    setInterval(() => {
      if (fs.existsSync(fail)) { fs.rmSync(fail); process.exit(1); }
      if (fs.existsSync(over)) process.exit(0);
    }, 20);`;
    const worker = await staged.startNode({
      name: "alone",
      run: "alone",
      flags: ["--restart", "on-failure"],
      program: program(script),
    });
    await waitUntil("it trains", () => said(worker).includes("resumes at "));
    writeCheckpoint({ folder, step: 100, modelBytes: 4096, optimizerBytes: 0, loss: 1 });
    await waitUntil("it is safe", async () => (await safeSteps("alone")).includes(100));
    await staged.stage().killHub();
    writeFileSync(join(folder, "fail"), "");
    await waitUntil("it is started again", () => said(worker).includes("resumes at 100"));
    await staged.stage().startHubAgain();
    writeFileSync(join(folder, "over"), "");
    expect(await worker.exited).toMatchObject({ code: 0 });
  });
});
