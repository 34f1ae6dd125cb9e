import { cpSync, mkdirSync, readFileSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runName } from "#protocol/base/names.ts";
import { unpackLayout } from "../layouts/unpack-layout.ts";
import { openStage, type Stage } from "../stage/open-stage.ts";
import { runOnce } from "../stage/run-once.ts";
import { testedWorker } from "../stage/start-worker.ts";
import { waitUntil } from "../stage/wait-until.ts";

/** PyTorch DCP over two nodes with disks of their own: each has its data, and node 0 alone the metadata. */
let stage: Stage;
let layout: string;
beforeAll(async () => {
  stage = await openStage();
  layout = join(stage.dir, "dcp");
  unpackLayout("dcp", layout);
});
afterAll(() => stage.close());

const OWN = [["__0_0.distcp", ".metadata"], ["__1_0.distcp"]] as const;
const GROUP = (rank: number) => ["--nodes", "2", "--node-rank", String(rank), "--settle", "100ms"];
const said = (worker: { lines: readonly string[] }) => worker.lines.join("\n");

/** Writes one node's files of a step. */
function writePiece(name: string, rank: 0 | 1, step: number): void {
  const folder = join(stage.folderOf(name), `step_${step}`);
  mkdirSync(folder, { recursive: true });
  for (const file of OWN[rank]) cpSync(join(layout, `step_${step}`, file), join(folder, file));
}

const rowsOf = async (run: string) => {
  const { checkpoints } = await stage.client.runs.get.query({ run: runName.parse(run) });
  return checkpoints.filter(({ state }) => state === "complete");
};
const stepsOf = async (run: string) =>
  (await rowsOf(run)).map(({ step, doubt, isNewest, piece }) => ({ step, doubt, isNewest, piece }));

const show = ["sh", "-c", 'echo "goes on at $TIDEMARK_RESUME_STEP:" $(LC_ALL=C ls -A "$TIDEMARK_RESUME_PATH")'];

test("of one node alone end --require-safe with 9, and those of all nodes with 0", async () => {
  const start = (run: string, rank: 0 | 1) => {
    const name = `${run}-${rank}`;
    const folder = join(stage.folderOf(name), "step_10");
    const files = OWN[rank].map((file) => join(layout, "step_10", file)).join(" ");
    return stage.startNode({
      name,
      run,
      program: ["sh", "-c", `mkdir -p ${folder} && cp ${files} ${folder}`],
      flags: [...GROUP(rank), "--require-safe"],
    });
  };
  const first = await start("last", 0);
  await waitUntil("it waits for the other node", () => said(first).includes("Waiting for the pieces of other nodes"));
  process.kill(first.pid, "SIGTERM");
  expect(await first.exited).toMatchObject({ code: 9 });
  expect(said(first)).toContain("Kept: the piece of node 0 of 2 of last step 10");
  expect(said(first)).toContain("last: nothing of it is safe yet; nothing waits. last step 10 is not whole yet");
  const both = await Promise.all([start("both", 0), start("both", 1)]);
  for (const worker of both) expect(await worker.exited).toMatchObject({ code: 0 });
  for (const worker of both) expect(said(worker)).toContain("Safe: both step 10, with the pieces of all nodes.");
});

test("of several nodes are joined into one checkpoint, which each of them goes on from", async () => {
  const statusOf = (name: string) =>
    runOnce(testedWorker(), ["status", "--state", join(stage.dir, "nodes", name, "state")]);
  const backlog = async () => {
    const { runs } = await stage.client.nodes.get.query({ id: "zero" });
    const [run] = runs;
    return run && { safeStep: run.safeStep, work: run.work, checkpoints: run.risk.checkpoints };
  };
  const zero = await stage.startNode({ name: "zero", run: "fsdp", flags: GROUP(0) });
  const one = await stage.startNode({ name: "one", run: "fsdp", flags: GROUP(1) });
  writePiece("zero", 0, 10);
  await waitUntil("the piece of node 0 is kept", async () => (await rowsOf("fsdp")).length === 1);
  expect(await stepsOf("fsdp")).toEqual([
    { step: 10, doubt: "the piece of node 1 is missing", isNewest: false, piece: { of: 2, rank: 0 } },
  ]);
  expect(said(zero)).not.toContain("Safe: ");
  const alone = (await statusOf("zero")).stdout;
  expect(alone).toContain("fsdp: nothing is safe yet; 1 checkpoints");
  expect(alone).toContain("fsdp step 10 is not whole yet: the piece of node 1 is missing.");
  await waitUntil("the hub counts it as work at risk", async () => {
    const now = await backlog();
    return now?.safeStep === null && now.work !== "safe" && now.checkpoints === 1;
  });
  writePiece("one", 1, 10);
  await waitUntil("they are joined", async () => (await stepsOf("fsdp"))[0]?.doubt === null);
  expect(await stepsOf("fsdp")).toEqual([
    { step: 10, doubt: null, isNewest: true, piece: { of: 2, nodes: ["zero", "one"] } },
  ]);
  await waitUntil("both nodes know that it is safe", () =>
    [zero, one].every((node) => said(node).includes("Safe: fsdp step 10, with the pieces of all nodes.")),
  );
  const place = `the folder step_10 in ${stage.folderOf("zero")}`;
  expect((await statusOf("zero")).stdout).toContain(`fsdp: safe up to step 10 (${place}); nothing waits`);
  await waitUntil("the hub counts it as safe", async () => {
    const now = await backlog();
    return now?.safeStep === 10 && now.work === "safe" && now.checkpoints === 0;
  });
  // Of the next step one piece alone becomes safe before both machines are lost.
  writePiece("one", 1, 20);
  await waitUntil("the piece of node 1 is kept", async () => (await rowsOf("fsdp")).length === 2);
  expect((await stepsOf("fsdp"))[0]?.doubt).toBe("the piece of node 0 (zero) is missing");
  await Promise.all([zero.stop(), one.stop()]);
  const left = (await statusOf("one")).stdout;
  expect(left).toContain("fsdp can go on from step 10 on another node.");
  expect(left).toContain("fsdp step 20 is not whole yet: the piece of node 0 (zero) is missing.");

  const again = await Promise.all(
    [0, 1].map((rank) => stage.startNode({ name: `new-${rank}`, run: "fsdp", program: show, flags: GROUP(rank) })),
  );
  for (const worker of again) {
    expect(await worker.exited).toMatchObject({ code: 0 });
    expect(said(worker)).toContain("goes on at 10: .metadata __0_0.distcp __1_0.distcp");
  }
  for (const file of OWN.flat()) {
    const restored = readFileSync(join(stage.folderOf("new-1"), "step_10", file));
    expect(restored.equals(readFileSync(join(layout, "step_10", file)))).toBe(true);
  }
  expect(readdirSync(stage.folderOf("new-0"))).not.toContain("step_20");
  expect(statSync(join(stage.folderOf("new-0"), "step_10")).isDirectory()).toBe(true);
});

test("that count from a lower step again begin a new line together, and what they write is joined in it", async () => {
  const zero = await stage.startNode({ name: "anew-0", run: "anew", flags: GROUP(0) });
  const one = await stage.startNode({ name: "anew-1", run: "anew", flags: GROUP(1) });
  writePiece("anew-0", 0, 20);
  writePiece("anew-1", 1, 20);
  await waitUntil("step 20 is joined", async () => (await stepsOf("anew"))[0]?.doubt === null);
  writePiece("anew-0", 0, 10);
  await waitUntil("the first piece of the new line is kept", async () => (await rowsOf("anew"))[0]?.step === 10);
  writePiece("anew-1", 1, 10);
  await waitUntil("step 10 is joined", async () => (await stepsOf("anew"))[0]?.doubt === null);
  const { epochs } = await stage.client.runs.get.query({ run: runName.parse("anew") });
  const branch = { from: null, after: { epoch: 1, step: 20 }, step: 10 };
  expect(epochs.map((one) => [one.epoch, one.branch])).toEqual([
    [2, branch],
    [1, null],
  ]);
  expect((await rowsOf("anew")).map(({ step, writerEpoch, isNewest }) => [step, writerEpoch, isNewest])).toEqual([
    [10, 2, true],
    [20, 1, false],
  ]);
  await Promise.all([zero.stop(), one.stop()]);
});

test("that wait to be sent when their nodes begin a new line are joined in the line that wrote them", async () => {
  const nodes = [0, 1].map((rank) => ({ name: `waits-${rank}`, rank: rank as 0 | 1 }));
  const [zero, one] = await Promise.all(
    nodes.map(({ name, rank }) => stage.startNode({ name, run: "waits", flags: GROUP(rank) })),
  );
  const both = [zero, one].filter((worker) => worker !== undefined);
  const write = (step: number) => nodes.forEach(({ name, rank }) => writePiece(name, rank, step));
  const captured = (step: number) =>
    waitUntil(`step ${step} waits on both nodes`, () =>
      both.every((worker) => said(worker).includes(`Captured waits step ${step}:`)),
    );
  await waitUntil("both watch", () => both.every((worker) => said(worker).includes("Watching ")));
  process.kill(stage.store.pid, "SIGSTOP");
  try {
    write(20);
    await captured(20);
    write(10);
    await captured(10);
    expect(await rowsOf("waits")).toEqual([]);
  } finally {
    process.kill(stage.store.pid, "SIGCONT");
  }
  await waitUntil("both steps are joined", async () => {
    const rows = await stepsOf("waits");
    return rows.length === 2 && rows.every(({ doubt }) => doubt === null);
  });
  const [later, earlier] = await rowsOf("waits");
  expect(earlier).toMatchObject({ step: 20, writerEpoch: 1, isNewest: false });
  expect(later).toMatchObject({ step: 10, isNewest: true });
  // A claim whose answer came too late while the store stood has used an epoch up.
  expect(later?.writerEpoch).toBeGreaterThan(1);
  await Promise.all(both.map((worker) => worker.stop()));
});
