import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { IMPLEMENTATIONS, stageOver, type Staged } from "../stage/stage-over.ts";
import { waitUntil } from "../stage/wait-until.ts";

/** Programs change their checkpoints while these are captured; several watched folders of one start come back each to its own. */

const said = (worker: { lines: readonly string[] }) => worker.lines.join("\n");
const program = (script: string): string[] => [process.execPath, "-e", script];

describe.each(IMPLEMENTATIONS)("over %s", (implementation) => {
  let staged: Staged;
  beforeAll(async () => {
    staged = await stageOver(implementation);
  });
  afterAll(() => staged.close());

  async function runTo(node: string, about: { run: string; script: string; flags?: string[] }) {
    const { run, script, flags = [] } = about;
    mkdirSync(staged.folderOf(node), { recursive: true });
    const worker = await staged.startNode({
      name: node,
      run,
      program: program(script),
      flags: ["--settle", "50ms", ...flags],
    });
    const { code } = await worker.exited;
    expect(code, said(worker)).toBe(0);
    return worker;
  }

  test("a checkpoint that is a link to fast scratch is taken through it, and comes back as a folder", async () => {
    const folder = staged.folderOf("scratch-1");
    const scratch = join(staged.dir, "scratch/500");
    const script = `const fs = require("node:fs");
    fs.mkdirSync(${JSON.stringify(scratch)}, { recursive: true });
    fs.writeFileSync(${JSON.stringify(join(scratch, "model.pt"))}, "on the fast disk");
    fs.symlinkSync(${JSON.stringify(scratch)}, ${JSON.stringify(join(folder, "checkpoint-500"))});`;
    await runTo("scratch-1", { run: "scratch", script });
    const worker = await runTo("scratch-2", { run: "scratch", script: "0" });
    expect(said(worker)).toContain("scratch goes on from step 500.");
    const back = join(staged.folderOf("scratch-2"), "checkpoint-500");
    expect(readFileSync(join(back, "model.pt"), "utf8")).toBe("on the fast disk");
  });

  test("two watched folders of one start stay two: on a machine where they lie elsewhere each gets its own back, in their order", async () => {
    const write = (folders: readonly string[]) =>
      folders
        .map(
          (folder, at) =>
            `fs.mkdirSync(${JSON.stringify(folder)}, { recursive: true });
           fs.writeFileSync(${JSON.stringify(join(folder, "ckpt_10.pt"))}, "of folder ${at}");`,
        )
        .join("\n");
    const [a, b] = [join(staged.dir, "first/policy"), join(staged.dir, "first/critic")];
    const start = (name: string, about: { folders: readonly [string, string]; script: string }) =>
      staged.startNode({
        name,
        run: "policy",
        watch: about.folders[0],
        program: program(`const fs = require("node:fs"); ${about.script}`),
        flags: ["--settle", "50ms", "--watch", about.folders[1], "--run", "critic"],
      });
    const first = await start("two-1", { folders: [a, b], script: write([a, b]) });
    expect((await first.exited).code, said(first)).toBe(0);
    const [c, d] = [join(staged.dir, "second/x1"), join(staged.dir, "second/x2")];
    for (const folder of [c, d]) mkdirSync(folder, { recursive: true });
    const second = await start("two-2", { folders: [c, d], script: "0" });
    expect((await second.exited).code, said(second)).toBe(0);
    expect([c, d].map((folder) => readFileSync(join(folder, "ckpt_10.pt"), "utf8"))).toEqual([
      "of folder 0",
      "of folder 1",
    ]);
  });

  // The same whoever is asked.
  if (implementation !== "hub") return;

  test("a loop that keeps one checkpoint and deletes the others while they are captured never fails, and no half of a step is safe", async () => {
    const folder = staged.folderOf("hot-1");
    const enough = join(staged.dir, "enough");
    const script = `const fs = require("node:fs"), { join } = require("node:path");
    const folder = ${JSON.stringify(folder)}, PARTS = 12;
    for (let step = 1; !fs.existsSync(${JSON.stringify(enough)}); step++) {
      const at = join(folder, "checkpoint-" + step);
      fs.mkdirSync(at);
      for (let part = 1; part <= PARTS; part++)
        fs.writeFileSync(join(at, "model-000" + String(part).padStart(2, "0") + "-of-000" + PARTS + ".bin"), Buffer.alloc(100_000, step));
      fs.writeFileSync(join(at, "trainer_state.json"), JSON.stringify({ global_step: step }));
      // Some steps stay for long enough, most are deleted while they are captured.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, step % 8 === 0 ? 2_000 : (step % 3) * 120);
      fs.rmSync(join(folder, "checkpoint-" + (step - 1)), { recursive: true, force: true });
    }`;
    const trained = runTo("hot-1", { run: "hot", script });
    await waitUntil("several steps are safe", async () => (await staged.completeOf("hot")).length >= 3);
    writeFileSync(enough, "");
    await trained;
    const safe = await staged.completeOf("hot");
    expect(new Set(safe.map(({ fileCount }) => fileCount))).toEqual(new Set([13]));
    const [last = ""] = readdirSync(folder);
    expect(last).toBe(`checkpoint-${safe[0]?.step}`);
    await runTo("hot-2", { run: "hot", script: "0" });
    const back = join(staged.folderOf("hot-2"), last);
    expect(readdirSync(back)).toHaveLength(13);
    for (const name of readdirSync(back))
      expect(readFileSync(join(back, name)).equals(readFileSync(join(folder, last, name)))).toBe(true);
  });

  test("a folder that the framework leaves at its next start is named before the program starts, with the next one", async () => {
    const watch = join(staged.folderOf("elsewhere-1"), "lightning_logs/version_0/checkpoints");
    mkdirSync(watch, { recursive: true });
    writeFileSync(join(watch, "epoch=0-step=5.ckpt"), "state");
    const worker = await staged.startNode({
      name: "elsewhere-1",
      run: "elsewhere",
      watch,
      program: program("console.log('the program starts')"),
      flags: ["--settle", "50ms"],
    });
    expect((await worker.exited).code, said(worker)).toBe(0);
    const lines = worker.lines.map((line) => line.trim());
    const told = lines.findIndex((line) => line.includes("makes a new folder in") && line.includes("(version_1)"));
    expect(told).toBeGreaterThan(-1);
    expect(told).toBeLessThan(lines.findIndex((line) => line.includes("the program starts")));
  });
});
