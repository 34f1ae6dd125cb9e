import { chmodSync, existsSync, mkdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { JobDraft } from "#protocol/jobs/job-spec.ts";
import type { JobDetail } from "#protocol/jobs/job-views.ts";
import { runName } from "#protocol/base/names.ts";
import { commandOf, listProcesses } from "../gate/process-tree.ts";
import { openStage, type Stage } from "../stage/open-stage.ts";
import { ROOT, type RunningProcess } from "../stage/start-process.ts";
import { waitUntil } from "../stage/wait-until.ts";

/** `tidemark work --slots` over a real hub: two jobs at once on one machine, whose GPUs a stand-in for nvidia-smi names. */
let stage: Stage;
let tools: string;
beforeAll(async () => {
  stage = await openStage();
  tools = join(stage.dir, "tools");
  mkdirSync(tools);
  const path = join(tools, "nvidia-smi");
  // GPU 0 and 1 have 24 GiB, GPU 2 has 80 GiB.
  const script = `case "$*" in
  *--id=0,1*memory.total*) printf '24576\\n24576\\n' ;;
  *--id=2*memory.total*) echo 81920 ;;
  *=index*) printf '0\\n1\\n2\\n' ;;
  *--id=0,1*=name*) printf 'L4\\nL4\\n' ;;
  *--id=2*=name*) echo H100 ;;
esac`;
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
});
afterAll(() => stage.close());

const TRAIN = join(ROOT, "e2e/stage/training-program.ts");
const QUEUE = "slots";
/** File that a job holds for. */
const flag = (name: string): string => join(stage.dir, `hold-${name}`);
/** File into which each attempt of a job writes its slot and GPUs. */
const seen = (name: string): string => join(stage.dir, `seen-${name}`);
const readSeen = (name: string): string => (existsSync(seen(name)) ? readFileSync(seen(name), "utf8") : "");

const training = (name: string, more: Partial<JobDraft> = {}): JobDraft => ({
  name,
  queue: QUEUE,
  run: runName.parse(name),
  command: "sh",
  arguments: [
    "-c",
    `echo "$TIDEMARK_SLOT $CUDA_VISIBLE_DEVICES $CUDA_DEVICE_ORDER $PWD" >> '${seen(name)}'
     test -e '${flag(name)}' && mkdir -p ckpt && touch ckpt/hold; exec "$0" "$1" "$PWD/ckpt" "$2"`,
    process.execPath,
    TRAIN,
    "3",
  ],
  // A job cannot take the GPUs of another slot.
  environment: { CUDA_VISIBLE_DEVICES: "0,1,2" },
  watch: ["ckpt"],
  ...more,
});

const startSlots = (name: string): Promise<RunningProcess> =>
  stage.startNode({
    name,
    queue: QUEUE,
    flags: ["--slots", "2", "--work-folder", join(stage.dir, "nodes", name, "jobs"), "--grace", "8s"],
    env: { PATH: `${tools}:${process.env["PATH"] ?? ""}` },
  });

async function submit(...jobs: JobDraft[]): Promise<string[]> {
  return (await stage.client.jobs.submit.mutate({ jobs })).jobs.map(({ id }) => id);
}
const waitFor = (what: string, id: string, fits: (job: JobDetail) => boolean): Promise<JobDetail> =>
  waitUntil(what, async () => {
    const job = await stage.client.jobs.get.query({ id });
    return fits(job) ? job : null;
  });
const isSafe = (run: string, step: number) =>
  waitUntil(`step ${step} of ${run} is safe`, async () => {
    const { checkpoints } = await stage.client.runs.get.query({ run: runName.parse(run) });
    return checkpoints.some((one) => one.state === "complete" && one.step === step);
  });

/** Processes of the slots and of their jobs: both have a folder of the node in their command line. */
const processesOf = (name: string, part = "") =>
  listProcesses().filter(({ pid, isZombie }) => {
    const command = commandOf(pid).replaceAll("\0", " ");
    return !isZombie && command.includes(join(stage.dir, "nodes", name)) && command.includes(part);
  });
/** Resolves when the program of a job, whose worker was killed, has ended. */
const programEnded = (name: string, job: string) =>
  waitUntil(
    "the program ends",
    () => !processesOf(name, "training-program").some(({ pid }) => commandOf(pid).includes(job)),
  );
/** Returns the process of a slot: the worker below the starter that holds the lock of the slot's state folder. */
const pidOfSlot = (name: string, slot: number): number => {
  const lock = join(stage.dir, "nodes", name, "state", `slot-${slot}`, "worker.lock");
  return Number(readlinkSync(lock).split(" ")[0]);
};

test("two slots run a job each on GPUs of their own; one is killed, the other completes, and the killed one goes on", async () => {
  for (const name of ["large", "small"]) writeFileSync(flag(name), "");
  // Only the second slot has a GPU of this size, although the first one asks first.
  const [large = "", small = ""] = await submit(
    training("large", { needs: { gpuMemoryBytes: 80e9 } }),
    training("small"),
  );
  const worker = await startSlots("pair");
  const onLarge = await waitFor("the large one runs", large, ({ state }) => state === "running");
  const onSmall = await waitFor("the small one runs", small, ({ state }) => state === "running");
  expect([onSmall.node?.name, onLarge.node?.name]).toEqual(["pair-slot-1", "pair-slot-2"]);
  expect(worker.lines.join("\n")).toContain("with these GPUs: slot 1: 0,1; slot 2: 2. 3 GPUs do not divide by 2");
  await Promise.all([isSafe("large", 10), isSafe("small", 10)]);
  const folder = join(stage.dir, "nodes/pair/jobs");
  expect(readSeen("small")).toBe(`1 0,1 PCI_BUS_ID ${join(folder, "slot-1", small)}\n`);
  expect(readSeen("large")).toBe(`2 2 PCI_BUS_ID ${join(folder, "slot-2", large)}\n`);
  const nodes = await stage.client.nodes.list.query();
  expect(nodes.filter(({ name }) => name.startsWith("pair")).map(({ name, facts }) => [name, facts.gpu])).toEqual([
    ["pair-slot-1", "2 x L4"],
    ["pair-slot-2", "H100"],
  ]);

  // The token would admit further nodes.
  expect(readFileSync(`/proc/${pidOfSlot("pair", 1)}/environ`, "utf8")).not.toContain(stage.token);
  process.kill(pidOfSlot("pair", 1), "SIGKILL");
  await programEnded("pair", small);
  rmSync(flag("small"));
  rmSync(join(folder, "slot-1", small, "ckpt/hold"));
  rmSync(flag("large"));
  rmSync(join(folder, "slot-2", large, "ckpt/hold"));
  expect(await waitFor("the other completes", large, ({ state }) => state === "done")).toMatchObject({ attempts: 1 });
  const done = await waitFor("the killed one goes on", small, ({ state }) => state === "done");
  expect(done).toMatchObject({ failures: 0, attempts: 2, attemptRows: [{}, { outcome: "interrupted" }] });
  // A program that is asked to end saves one step more, which may be safe before the job is handed out again.
  expect([10, 11]).toContain(done.attemptRows[0]?.fromStep);
  expect(worker.lines.join("\n")).toContain("Slot 1 has ended by SIGKILL. It is started again in 5 s");
  expect(await worker.stop()).toEqual({ code: 143, signal: null });
  expect(processesOf("pair")).toEqual([]);
});

test("when the process that started the slots is killed, they end their programs and themselves, and the next start takes the jobs", async () => {
  writeFileSync(flag("left"), "");
  const [left = ""] = await submit(training("left"));
  const worker = await startSlots("gone");
  await waitFor("it runs", left, ({ state }) => state === "running");
  await isSafe("left", 10);
  expect(processesOf("gone", "training-program").length).toBeGreaterThan(0);
  process.kill(worker.pid, "SIGKILL");
  await programEnded("gone", left);
  rmSync(flag("left"));
  rmSync(join(stage.dir, "nodes/gone/jobs/slot-1", left, "ckpt/hold"), { force: true });
  rmSync(join(stage.dir, "nodes/gone/jobs/slot-2", left, "ckpt/hold"), { force: true });
  const again = await startSlots("gone");
  expect(await waitFor("it goes on", left, ({ state }) => state === "done")).toMatchObject({
    attempts: 2,
    failures: 0,
  });
  expect(again.lines.join("\n")).not.toContain("is not started again");
  process.kill(again.pid, "SIGKILL");
  await waitUntil("nothing runs", () => processesOf("gone").length === 0);
});

test("more slots than GPUs are refused with a sentence", async () => {
  const worker = await stage.startNode({
    name: "many",
    queue: QUEUE,
    flags: ["--slots", "4"],
    env: { PATH: `${tools}:${process.env["PATH"] ?? ""}` },
  });
  expect(await worker.exited).toEqual({ code: 2, signal: null });
  expect(worker.lines.join("\n")).toContain(
    "a slot needs a GPU of its own, and this worker sees 3: use --slots 3 or fewer",
  );
});
