import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runName } from "#protocol/base/names.ts";
import { openStage, type Stage } from "../stage/open-stage.ts";
import { runOnce } from "../stage/run-once.ts";
import { ROOT, type RunningProcess } from "../stage/start-process.ts";
import { waitUntil } from "../stage/wait-until.ts";
import { testedWorker } from "../stage/start-worker.ts";

/** The last step of a training program, whatever becomes of its worker meanwhile. */
let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
const workers: RunningProcess[] = [];
afterAll(async () => {
  // One that is stopped hears nothing else.
  await Promise.all(workers.map((worker) => worker.stop("SIGKILL")));
  await stage.close();
});

const PYTHON = process.env["PYTHON"] ?? "python3";

/** A program that says every step and saves nothing; what it said is in a log of its own. */
function walking(name: string) {
  const log = join(stage.dir, `${name}.log`);
  const script = [PYTHON, "-B", join(ROOT, "e2e/stage/training.py"), "steps", stage.folderOf(name), log];
  const steps = () => readFileSync(log, "utf8").trim().split("\n").map(Number);
  return {
    /** Each life begins with the first step. */
    start: async (until: number) => {
      writeFileSync(log, "");
      const worker = await stage.startNode({ name, run: name, program: [...script, String(until), stage.dir] });
      workers.push(worker);
      return worker;
    },
    said: () => steps().at(-1) ?? 0,
    /** Resolves with the last step when the program makes no more. */
    rest: async () => {
      writeFileSync(`${log}.rest`, "");
      await waitUntil("the program rests", () => existsSync(`${log}.resting`));
      return steps().at(-1) ?? 0;
    },
    wake: () => ["rest", "resting"].forEach((end) => rmSync(`${log}.${end}`)),
  };
}

type Program = ReturnType<typeof walking>;

const signal = ({ pid }: RunningProcess, name: NodeJS.Signals) => process.kill(pid, name);
const losses = (name: string) =>
  stage.client.losses.list.query({ run: runName.parse(name), nodeId: null, before: null, limit: 200 });

async function stopAndKill(program: Program): Promise<number> {
  const worker = await program.start(1_000_000);
  await waitUntil("it trains", () => program.said() >= 10);
  signal(worker, "SIGSTOP");
  const before = program.said();
  await waitUntil("it trains on beside a worker that is stopped", () => program.said() > before + 500);
  const last = await program.rest();
  await worker.stop("SIGKILL");
  program.wake();
  return last;
}

test("a worker that is stopped while its program steps on, and both killed then: the loss is exact", async () => {
  const program = walking("stopped");
  const lasts = [await stopAndKill(program), await stopAndKill(program)];
  expect((await (await program.start(0)).exited).code).toBe(0);
  const rows = await losses("stopped");
  expect(rows.map(({ lastStep, lostSteps }) => [lastStep, lostSteps]).toSorted(([a = 0], [b = 0]) => a - b)).toEqual(
    lasts.toSorted((a, b) => a - b).map((last) => [last, last]),
  );
  // From the first step to the last.
  for (const { lostMs, lostSteps } of rows) expect(lostMs).toBeGreaterThanOrEqual(lostSteps * 3);
});

test("a worker that was stopped and goes on says how far its program is, not how far it was", async () => {
  const program = walking("goes-on");
  const worker = await program.start(1_000_000);
  await waitUntil("it trains", () => program.said() >= 10);
  signal(worker, "SIGSTOP");
  const before = program.said();
  await waitUntil("it trains on", () => program.said() > before + 500);
  const last = await program.rest();
  signal(worker, "SIGCONT");
  const state = join(stage.dir, "nodes", "goes-on", "state");
  const status = await runOnce(testedWorker(), ["status", "--state", state, "--json"], {});
  const { runs } = JSON.parse(status.stdout.trim().split("\n").at(-1) ?? "{}") as { runs: { trainedStep: number }[] };
  expect(runs.map(({ trainedStep }) => trainedStep)).toEqual([last]);
  await worker.stop("SIGKILL");
});
