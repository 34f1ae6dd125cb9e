import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { IMPLEMENTATIONS, stageOver, type Staged } from "../stage/stage-over.ts";
import { waitUntil } from "../stage/wait-until.ts";
import { layersOf, writeSafetensors } from "../stage/write-checkpoint.ts";

/** Checkpoints that look unfinished for ever, and what a folder is besides the bytes of its files. */

const said = (worker: { lines: readonly string[] }) => worker.lines.join("\n");

function writeStep(folder: string, step: number, files: Record<string, string>): string {
  const path = join(folder, `checkpoint-${step}`);
  mkdirSync(path, { recursive: true });
  writeSafetensors(join(path, "model.safetensors"), layersOf(64 * 1024));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(path, name), text);
  return path;
}

const WHOLE = { "trainer_state.json": '{"global_step": 10, "log_history": [{"grad_norm": NaN}]}' };
const WHY = "shards-00001-of-00002.safetensors, named by shards.safetensors.index.json, is missing";
const SHARDED = {
  ...WHOLE,
  "shards.safetensors.index.json": JSON.stringify({ weight_map: { w: "shards-00001-of-00002.safetensors" } }),
};

describe.each(IMPLEMENTATIONS)("over %s", (implementation) => {
  let staged: Staged;
  beforeAll(async () => {
    staged = await stageOver(implementation);
  });
  afterAll(() => staged.close());

  test("one that stays unfinished is kept safe as doubtful, is shown as that, and is chosen by a person only", async () => {
    const folder = staged.folderOf("one");
    mkdirSync(folder, { recursive: true });
    const first = await staged.startNode({ name: "one", run: "kept", flags: ["--unfinished-after", "3s"] });
    writeStep(folder, 10, WHOLE);
    await waitUntil("the whole one is safe", async () => (await staged.completeOf("kept")).length === 1);
    writeStep(folder, 20, SHARDED);
    await waitUntil("the doubtful one is safe", async () => (await staged.completeOf("kept")).length === 2);
    expect((await staged.completeOf("kept")).map(({ step, doubt, isNewest }) => ({ step, doubt, isNewest }))).toEqual([
      { step: 20, doubt: WHY, isNewest: false },
      { step: 10, doubt: null, isNewest: true },
    ]);
    expect(said(first)).toContain(`It is doubtful: ${WHY}.`);
    await first.stop();
    const program = ["sh", "-c", 'echo "goes on at $TIDEMARK_RESUME_STEP"'];
    const second = await staged.startNode({ name: "two", run: "kept", program });
    expect(await second.exited).toMatchObject({ code: 0 });
    expect(said(second)).toContain("goes on at 10");
    expect(said(second)).toContain("Step 20 of kept is in the bucket and doubtful");
    const third = await staged.startNode({ name: "three", run: "kept", program, flags: ["--from", "20"] });
    expect(await third.exited).toMatchObject({ code: 0 });
    expect(said(third)).toContain("goes on at 20");
  });

  test("modes, empty folders and times are restored with the files", async () => {
    const folder = staged.folderOf("modes");
    mkdirSync(folder, { recursive: true });
    const path = writeStep(folder, 10, { ...WHOLE, "launch.sh": "#!/bin/sh\n", "secret.key": "k" });
    chmodSync(join(path, "launch.sh"), 0o750);
    chmodSync(join(path, "secret.key"), 0o600);
    mkdirSync(join(path, "experts/none"), { recursive: true });
    for (const name of readdirSync(path)) utimesSync(join(path, name), 1_700_000_000, 1_700_000_000);
    const first = await staged.startNode({ name: "modes", run: "modes" });
    await waitUntil("it is safe", async () => (await staged.completeOf("modes")).length === 1);
    await first.stop();
    const second = await staged.startNode({ name: "modes-two", run: "modes", program: ["true"] });
    expect(await second.exited).toMatchObject({ code: 0 });
    const restored = join(staged.folderOf("modes-two"), "checkpoint-10");
    const modeOf = (name: string) => (statSync(join(restored, name)).mode & 0o777).toString(8);
    expect(["launch.sh", "secret.key", "model.safetensors"].map(modeOf)).toEqual(["750", "600", "644"]);
    expect(readdirSync(join(restored, "experts/none"))).toEqual([]);
    expect(statSync(restored).mtimeMs).toBe(1_700_000_000_000);
    expect(readFileSync(join(restored, "secret.key"), "utf8")).toBe("k");
  });

  if (implementation !== "hub") return;

  test("a doubtful checkpoint raises an alert of the hub", async () => {
    await waitUntil("the alert fires", async () => {
      const { rows } = await staged.stage().client.alerts.active.query({ limit: 50 });
      return rows.some(({ kind, text }) => kind === "doubtful" && text.includes(WHY));
    });
  });
});
