import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { IMPLEMENTATIONS, stageOver, type Staged } from "../stage/stage-over.ts";
import { runOnce } from "../stage/run-once.ts";
import { testedWorker } from "../stage/start-worker.ts";
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

/** Writes two files of step 10, and one of step 20 when 10 is known as safe; then it fails. */
const crashing = (folder: string) => `const fs = require("node:fs"), path = require("node:path");
  const from = process.env.TIDEMARK_RESUME_STEP;
  console.log("goes on at " + from);
  if (from !== "") process.exit(0);
  const put = (step, names) => {
    const at = path.join(${JSON.stringify(folder)}, "step_" + step);
    fs.mkdirSync(at, { recursive: true });
    for (const name of names) fs.writeFileSync(path.join(at, name), name + " of " + step);
  };
  put(10, ["part-0.bin", "part-1.bin"]);
  const go = path.join(${JSON.stringify(folder)}, "..", "go");
  setInterval(() => {
    if (!fs.existsSync(go)) return;
    put(20, ["part-0.bin"]);
    process.exit(1);
  }, 20);`;

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
    // The end of its restore says what it may lack.
    expect(said(third)).toContain(`is in place, every byte verified. It may not be whole: ${WHY}.`);
  });

  test("what a program that failed left behind is not gone on from by itself on its own node", async () => {
    const folder = staged.folderOf("crash");
    mkdirSync(folder, { recursive: true });
    const start = (flags: string[] = []) =>
      staged.startNode({
        name: "crash",
        run: "crash",
        program: [process.execPath, "-e", crashing(folder)],
        flags: ["--settle", "200ms", ...flags],
      });
    const first = await start();
    await waitUntil("step 10 is safe", () => said(first).includes("Safe: crash step 10"));
    writeFileSync(join(folder, "..", "go"), "");
    expect(await first.exited).toMatchObject({ code: 1 });
    expect(said(first)).toContain("Captured crash step 20: 1 files");
    expect(said(first)).toContain("It is doubtful: its program ended with a fault");
    const second = await start();
    expect(await second.exited).toMatchObject({ code: 0 });
    expect(said(second)).toContain("crash goes on from step 10.");
    expect(said(second)).toContain("goes on at 10");
    expect(said(second)).toContain("Step 20 of crash is in the bucket and doubtful");
    const third = await start(["--from", "20"]);
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
    mkdirSync(join(path, "locked/deep"), { recursive: true });
    writeFileSync(join(path, "locked/deep/part.bin"), "p");
    const folders = { "": 0o750, experts: 0o711, "experts/none": 0o770, locked: 0o500, "locked/deep": 0o555 };
    for (const [name, mode] of Object.entries(folders)) chmodSync(join(path, name), mode);
    for (const name of [...readdirSync(path), "locked/deep/part.bin"])
      utimesSync(join(path, name), 1_700_000_000, 1_700_000_000);
    const first = await staged.startNode({ name: "modes", run: "modes" });
    await waitUntil("it is safe", async () => (await staged.completeOf("modes")).length === 1);
    await first.stop();
    const second = await staged.startNode({ name: "modes-two", run: "modes", program: ["true"] });
    expect(await second.exited).toMatchObject({ code: 0 });
    const restored = join(staged.folderOf("modes-two"), "checkpoint-10");
    const modeOf = (name: string) => (statSync(join(restored, name)).mode & 0o777).toString(8);
    expect(["launch.sh", "secret.key", "model.safetensors"].map(modeOf)).toEqual(["750", "600", "644"]);
    expect(readdirSync(join(restored, "experts/none"))).toEqual([]);
    expect(Object.keys(folders).map(modeOf)).toEqual(Object.values(folders).map((mode) => mode.toString(8)));
    expect(statSync(restored).mtimeMs).toBe(1_700_000_000_000);
    expect(readFileSync(join(restored, "secret.key"), "utf8")).toBe("k");
  });

  if (implementation !== "hub") return;

  test("the end of a restore of a doubtful checkpoint says what it may lack, in the events of the hub", async () => {
    const { client } = staged.stage();
    const asked = { nodeId: null, run: "kept", kinds: ["restore-done"], cursor: null, limit: 50 };
    const ends = (await client.events.list.query(asked)).rows.map(({ text }) => text);
    expect(ends.find((text) => text.startsWith("restored step 20"))).toContain(`, which may not be whole: ${WHY}`);
    expect(ends.find((text) => text.startsWith("restored step 10"))).not.toContain("may not be whole");
  });

  test("a doubtful checkpoint raises an alert of the hub", async () => {
    await waitUntil("the alert fires", async () => {
      const { rows } = await staged.stage().client.alerts.active.query({ limit: 50 });
      return rows.some(({ kind, text }) => kind === "doubtful" && text.includes(WHY));
    });
  });

  /** Runs a program to its end that writes step 10 whole and then, when that is safe, what `last` writes. */
  async function endWith(name: string, last: string) {
    const folder = staged.folderOf(name);
    const go = join(folder, "..", "go");
    const script = `const fs = require("node:fs"), path = require("node:path"), folder = ${JSON.stringify(folder)};
      const put = (at, files) => {
        fs.mkdirSync(path.join(folder, at), { recursive: true });
        for (const [name, text] of Object.entries(files)) fs.writeFileSync(path.join(folder, at, name), text);
      };
      put("step_10", { "part-0.bin": "a", "part-1.bin": "b" });
      setInterval(() => {
        if (!fs.existsSync(${JSON.stringify(go)})) return;
        ${last}
        process.exit(0);
      }, 20);`;
    const worker = await staged.startNode({
      name,
      run: name,
      program: [process.execPath, "-e", script],
      flags: ["--settle", "200ms", "--require-safe"],
    });
    await waitUntil("step 10 is safe", () => said(worker).includes(`Safe: ${name} step 10`));
    writeFileSync(go, "");
    const { code } = await worker.exited;
    const { stdout: status } = await runOnce(testedWorker(), ["status", "--state", staged.stateOf(name)], {});
    return { code, worker, status };
  }

  test("--require-safe ends with 9 when the last checkpoint or the final model may not be whole, and status and the hub name it", async () => {
    const odd = await endWith("odd", 'put("step_20", { "part-0.bin": "a", "b\\u0007c": "b" });');
    const words = "odd step 20 is kept as doubtful: b\\u0007c is left out";
    expect(odd.code).toBe(9);
    expect(said(odd.worker)).toContain(`odd: safe up to step 10; nothing waits. ${words}`);
    expect(odd.status).toContain("odd can go on from step 10 on another node.");
    expect(odd.status).toContain(words);

    const index = JSON.stringify({
      weight_map: { a: "model-00001-of-00002.safetensors", b: "model-00002-of-00002.safetensors" },
    });
    const shard = 'Buffer.concat([Buffer.from([2, 0, 0, 0, 0, 0, 0, 0]), Buffer.from("{}")])';
    const final = await endWith(
      "final",
      `put("", { "config.json": "{}", "model.safetensors.index.json": ${JSON.stringify(index)},
        "model-00001-of-00002.safetensors": ${shard} });`,
    );
    const why = "model-00002-of-00002.safetensors is missing";
    const sentence = `The final model of final is kept as doubtful: ${why}. \`tidemark restore final@final DIR\` restores it all the same.`;
    expect(final.code).toBe(9);
    expect(said(final.worker)).toContain("Kept as doubtful: the final model of final, 106 B");
    expect(said(final.worker)).toContain(`final: safe up to step 10; nothing waits. ${sentence}`);
    expect(final.status).toContain("final can go on from step 10 on another node.");
    expect(final.status).toContain(sentence);
    const { client } = staged.stage();
    await waitUntil("the alert fires", async () => {
      const { rows } = await client.alerts.active.query({ limit: 50 });
      return rows.some(({ text }) => text === `kept the final model of final, which may not be whole: ${why}`);
    });
    const id = (await client.nodes.list.query()).find((node) => node.name === "final")?.id ?? "";
    expect(await client.nodes.lines.query({ id })).toMatchObject([{ run: "final", isFinalDoubtful: true }]);
  });
});
