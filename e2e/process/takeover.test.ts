import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runName } from "#protocol/base/names.ts";
import { openStage, type Stage } from "../stage/open-stage.ts";
import { announce, enrolRogue, refusal } from "../stage/rogue-node.ts";
import { ROOT } from "../stage/start-process.ts";
import { waitUntil } from "../stage/wait-until.ts";
import { writeCheckpoint } from "../stage/write-checkpoint.ts";

/** Whose a run is, with real programs: a stranger that wants it while it is trained, and a machine that takes a dead one's place. */
let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

const run = runName.parse("wanted");
const train = (node: string, steps: number) => [
  process.execPath,
  join(ROOT, "e2e/stage/training-program.ts"),
  stage.folderOf(node),
  String(steps),
];
const said = (worker: { lines: readonly string[] }) => worker.lines.join("\n");
const newest = async () => {
  const { checkpoints, writerNodeName } = await stage.client.runs.get.query({ run });
  const safe = checkpoints.filter(({ state }) => state === "complete").map(({ step }) => step);
  return { step: Math.max(0, ...safe), writerNodeName };
};

test("a stranger with a token gets no run that is written, is alerted on, and the writer goes on saving", async () => {
  const first = await stage.startNode({ name: "first", run, program: train("first", 100_000) });
  await waitUntil("something of it is safe", async () => (await newest()).step > 0);
  // One that names the run when it enrols, and one that came for another.
  const rogue = await enrolRogue(stage, { name: "rogue" });
  expect(await refusal(rogue.node.claimEpoch.mutate({ run }))).toBe("RUN_IN_USE");
  expect(await refusal(announce(rogue, { run, epoch: 2, step: 1_000_000 }))).toBe("EPOCH_OVER");
  const { step } = await newest();
  await waitUntil("a later step is safe", async () => (await newest()).step > step);
  expect((await newest()).writerNodeName).toBe("first");
  const alert = await waitUntil("the alert fires", async () =>
    (await stage.client.alerts.active.query({})).rows.find(({ kind }) => kind === "claim-refused"),
  );
  expect(alert).toMatchObject({ nodeName: "rogue", run, text: `asked to write ${run}, which first writes` });
  await first.stop("SIGKILL");
});

test.concurrent("a machine that replaces a dead one waits until that is silent, and goes on by itself", async ({
  expect,
}) => {
  const { step } = await newest();
  const second = await stage.startNode({ name: "second", run, program: train("second", 1) });
  await waitUntil("it says what it waits for", () => said(second).includes("Another node writes this run"));
  expect(await second.exited).toMatchObject({ code: 0 });
  expect(said(second)).toContain(`starts at ${step}`);
  expect((await newest()).writerNodeName).toBe("second");
});

test.concurrent("what is written while a dead writer's silence is waited for is kept, and safe before the worker ends", async ({
  expect,
}) => {
  const replaced = runName.parse("replaced");
  const safeSteps = async () => {
    const { checkpoints } = await stage.client.runs.get.query({ run: replaced });
    return checkpoints.filter(({ state }) => state === "complete").map(({ step }) => step);
  };
  const write = (node: string, step: number) =>
    writeCheckpoint({ folder: stage.folderOf(node), step, modelBytes: 4_096, optimizerBytes: 0, loss: 1 });
  const dead = await stage.startNode({ name: "dead", run: replaced });
  write("dead", 10);
  await waitUntil("the dead one's is safe", async () => (await safeSteps().catch((): number[] => [])).includes(10));
  await dead.stop("SIGKILL");
  const next = await stage.startNode({ name: "next", run: replaced, flags: ["--grace", "5m"] });
  write("next", 20);
  await waitUntil("it is captured", () => said(next).includes("Captured"));
  await waitUntil("it waits", () => said(next).includes("Another node writes this run"));
  const { code } = await next.stop("SIGTERM");
  expect(code).toBe(143);
  expect(said(next)).toContain("replaced: safe up to step 20; nothing waits.");
  expect(await safeSteps()).toEqual([20, 10]);
});
