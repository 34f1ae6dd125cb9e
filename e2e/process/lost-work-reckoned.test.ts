import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runName } from "#protocol/base/names.ts";
import { openStage, type Stage } from "../stage/open-stage.ts";
import { ROOT } from "../stage/start-process.ts";
import { waitUntil } from "../stage/wait-until.ts";

/** What an interruption cost where the program says no steps, or does not go on from what it was given. */
let stage: Stage;
let checkpoint: string;
beforeAll(async () => {
  stage = await openStage();
  const fixtures = mkdtempSync(join(stage.dir, "fixtures-"));
  execFileSync("tar", ["xzf", join(ROOT, "e2e/stage/fixtures/real-checkpoints.tar.gz"), "-C", fixtures]);
  checkpoint = join(fixtures, "transformers-trainer/checkpoint-4");
});
afterAll(() => stage.close());

const said = (worker: { lines: readonly string[] }) => worker.lines.join("\n");
const losses = (run: string) =>
  stage.client.losses.list.query({ run: runName.parse(run), nodeId: null, before: null, limit: 10 });

/**
 * A program that makes a step each 20 ms and writes a checkpoint of the Trainer every `every` steps. It tells nobody its steps
 * but its own log. `resumes`: it goes on from the highest checkpoint in its folder; otherwise it always begins at 0. `rests`:
 * it makes no more steps from there on.
 */
function silent(name: string, about: { every: number; resumes: boolean; until?: number; rests?: number }): string[] {
  const script = `const fs = require("node:fs"), path = require("node:path");
    const [folder, source, log] = ${JSON.stringify([stage.folderOf(name), checkpoint, join(stage.dir, `${name}.log`)])};
    const steps = fs.readdirSync(folder).map((name) => Number(/^checkpoint-(\\d+)$/.exec(name)?.[1] ?? 0));
    let step = ${about.resumes} ? Math.max(0, ...steps) : 0;
    console.log("starts at " + step);
    setInterval(() => {
      if (step >= ${about.until ?? 1_000_000}) process.exit(0);
      if (step === ${about.rests ?? -1}) return;
      fs.writeFileSync(log, String(++step));
      if (step % ${about.every} !== 0) return;
      fs.cpSync(source, path.join(folder, ".half"), { recursive: true });
      fs.renameSync(path.join(folder, ".half"), path.join(folder, "checkpoint-" + step));
    }, 20);`;
  return [process.execPath, "-e", script];
}
const stepIn = (name: string): number => {
  const log = join(stage.dir, `${name}.log`);
  return existsSync(log) ? Number(readFileSync(log, "utf8")) : 0;
};

test("a silent program that was killed between two checkpoints has a row, reckoned by its pace", async () => {
  const node = { name: "silent", run: "silent" };
  const program = silent("silent", { every: 40, resumes: true, rests: 115 });
  const first = await stage.startNode({ ...node, program });
  await waitUntil("its last checkpoint is safe", () => said(first).includes("Safe: silent step 80"));
  await waitUntil("it is well past that", () => stepIn("silent") === 115);
  await first.stop("SIGKILL");
  const second = await stage.startNode({ ...node, program: silent("silent", { every: 40, resumes: true, until: 0 }) });
  expect(await second.exited).toMatchObject({ code: 0 });
  expect(said(second)).toContain("starts at 80");
  const rows = await losses("silent");
  expect(rows).toMatchObject([{ fromStep: 80, isEstimated: true }]);
  expect(rows[0]?.lostSteps).toBeGreaterThan(0);
});

test("steps that a program throws away because it begins at 0 are told, by its first checkpoint", async () => {
  const first = await stage.startNode({
    name: "deaf",
    run: "deaf",
    program: silent("deaf", { every: 30, resumes: true, until: 60 }),
  });
  expect(await first.exited).toMatchObject({ code: 0 });
  expect(said(first)).toContain("Safe: deaf step 60");
  const second = await stage.startNode({
    name: "deaf-too",
    run: "deaf",
    program: silent("deaf-too", { every: 30, resumes: false }),
  });
  await waitUntil("it is said", () => said(second).includes("was given step 60 and began at the beginning"));
  await waitUntil("the hub knows", async () => (await losses("deaf")).length > 0);
  expect(await losses("deaf")).toMatchObject([{ fromStep: null, lastStep: 60, lostSteps: 60 }]);
  await second.stop();
});

test("a program that ended in order lost nothing, and neither did one that goes on", async () => {
  const node = { name: "orderly", run: "orderly" };
  for (const until of [45, 90, 95]) {
    const worker = await stage.startNode({ ...node, program: silent("orderly", { every: 45, resumes: true, until }) });
    expect(await worker.exited).toMatchObject({ code: 0 });
  }
  expect(await losses("orderly")).toEqual([]);
});
