import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { LocalRun, LocalStatus } from "#protocol/local-api/local.ts";
import { openStage, type Stage } from "../stage/open-stage.ts";
import { runOnce } from "../stage/run-once.ts";
import { waitUntil } from "../stage/wait-until.ts";
import { writeCheckpoint } from "../stage/write-checkpoint.ts";
import { testedWorker } from "../stage/start-worker.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

const MB = 1_000_000;
const WARNING = "this uplink sustains one every";

/** A node that writes checkpoints of this size, and sends with this many bytes per second. */
async function startSlow(name: string, about: { checkpointBytes: number; upBytesPerSecond: number }) {
  const flags = ["--limit-up", String(about.upBytesPerSecond), "--settle", "100ms"];
  const worker = await stage.startNode({ name, run: name, flags });
  const says = (what: string) => worker.lines.some((line) => line.includes(what));
  const save = async (step: number) => {
    const folder = stage.folderOf(name);
    writeCheckpoint({ folder, step, modelBytes: about.checkpointBytes, optimizerBytes: 0, loss: 1 });
    await waitUntil(`step ${step} is captured`, () => says(`Captured ${name} step ${step}`));
  };
  return { says, save };
}

const tidemark = (node: string, ...args: string[]) =>
  runOnce(testedWorker(), [...args, "--state", join(stage.dir, "nodes", node, "state"), "--json"], {});

async function statusOf(node: string, run: string): Promise<LocalRun | null> {
  const { stdout } = await tidemark(node, "status");
  const { runs } = JSON.parse(stdout.trim().split("\n").at(-1) ?? "{}") as Partial<LocalStatus>;
  return runs?.find((one) => one.run === run) ?? null;
}

test("while the first upload still runs it is known what the uplink sustains, and said at the next checkpoint", async () => {
  const { says, save } = await startSlow("first", { checkpointBytes: 200 * MB, upBytesPerSecond: 2 * MB });
  await save(10);
  await waitUntil("it has a forecast", async () => {
    const run = await statusOf("first", "first");
    return run?.safeStep === null && run.sustain !== null;
  });
  await save(20);
  await waitUntil("it is said", () => says(WARNING));
  expect(says("Safe:")).toBe(false);

  // A small one of another run waits until these are through.
  const folder = join(stage.dir, "small");
  const path = writeCheckpoint({ folder, step: 1, modelBytes: MB, optimizerBytes: 0, loss: 1 });
  expect((await tidemark("first", "save", path, "--run", "small", "--no-wait")).code).toBe(0);
  const [small, first] = [await statusOf("first", "small"), await statusOf("first", "first")];
  expect(small?.unsafeBytes).toBeLessThan(2 * MB);
  expect(small?.etaMs).toBeGreaterThan((first?.etaMs ?? Infinity) / 2);
});

test("what the first upload showed is said as soon as it has ended", async () => {
  const { says, save } = await startSlow("ended", { checkpointBytes: 16 * MB, upBytesPerSecond: 4 * MB });
  await save(10);
  await save(20);
  await waitUntil("it is said", () => says(WARNING));
});
