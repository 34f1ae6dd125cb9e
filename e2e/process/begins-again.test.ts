import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runName } from "#protocol/base/names.ts";
import { openStage, type Stage } from "../stage/open-stage.ts";
import { ROOT } from "../stage/start-process.ts";
import { waitUntil } from "../stage/wait-until.ts";
import { writeCheckpoint } from "../stage/write-checkpoint.ts";

/** A program beside `tidemark agent`, started again by whoever starts it: what that cost is known too. */
let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

const run = runName.parse("beside");
const programs: ChildProcess[] = [];
afterAll(() => programs.forEach((program) => program.kill("SIGKILL")));

/** Says the steps from the first to the last, and then runs on. */
async function train(first: number, last: number): Promise<ChildProcess> {
  const script = `import time, tidemark
for step in range(${first}, ${last} + 1): tidemark.step(step)
print("said", flush=True)
time.sleep(600)`;
  const env = {
    ...process.env,
    PYTHONPATH: join(ROOT, "clients/python"),
    TIDEMARK_STATE: join(stage.dir, "nodes", "beside", "state"),
  };
  const program = spawn(process.env["PYTHON"] ?? "python3", ["-B", "-c", script], {
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  programs.push(program);
  await once(program.stdout, "data");
  return program;
}

async function kill(program: ChildProcess): Promise<void> {
  const ended = once(program, "exit");
  program.kill("SIGKILL");
  await ended;
}

test("the hub has what lies between the last step of the one and the checkpoint from which the other goes on", async () => {
  await stage.startNode({ name: "beside", run });
  const lost = async () => {
    const told = await stage.client.losses.list.query({ run, nodeId: null, before: null, limit: 10 });
    return told.map(({ fromStep, lastStep, lostSteps }) => ({ fromStep, lastStep, lostSteps }));
  };
  const first = await train(1, 100);
  writeCheckpoint({ folder: stage.folderOf("beside"), step: 100, modelBytes: 4096, optimizerBytes: 0, loss: 1 });
  await waitUntil("it is safe", async () => {
    const { checkpoints } = await stage.client.runs.get.query({ run });
    return checkpoints.some(({ state }) => state === "complete");
  });
  // All it did is safe: that it is started anew costs nothing.
  await kill(first);
  const second = await train(101, 137);
  await kill(second);
  const third = await train(101, 150);
  const once137 = { fromStep: 100, lastStep: 137, lostSteps: 37 };
  await waitUntil("the hub has it", async () => (await lost()).length > 0);
  expect(await lost()).toEqual([once137]);
  await kill(third);
  await train(1, 3);
  const all = { fromStep: null, lastStep: 150, lostSteps: 150 };
  await waitUntil("the hub has the other", async () => (await lost()).length > 1);
  expect(await lost()).toEqual(expect.arrayContaining([once137, all]));
});
