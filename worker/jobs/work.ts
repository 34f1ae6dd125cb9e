import { randomUUID } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { DEFAULT_QUEUE, queueName } from "#protocol/jobs/job-spec.ts";
import { stateOfWorker } from "../agent/agent.ts";
import { systemClock } from "../base/clock.ts";
import { diskFault } from "../base/disk-fault.ts";
import type { Config } from "../command-line/config.ts";
import { usage } from "../command-line/command-context.ts";
import { readGpuMemory } from "../host/facts.ts";
import { canRestorePriority } from "../host/nice.ts";
import { readProgramUser } from "../program/program-user.ts";
import { readRestoreMode } from "../supervise/restore-others.ts";
import { withinMemoryAlways } from "../store-session/within-memory.ts";
import { passOn, type Running } from "../supervise/supervise.ts";
import { createJobMessages } from "./job-messages.ts";
import type { JobWorker } from "./job-worker.ts";
import { runJob } from "./run-job.ts";
import { serveSlots, tellLeft } from "./slots/serve-slots.ts";
import { commandOfSlot, folderOf, followStarter, readSlot } from "./slots/slot.ts";
import { createUnreportedEnd } from "./unreported-end.ts";
import type { WorkCommand } from "./work-command.ts";
import { waitForJob } from "./wait-for-job.ts";

/**
 * Takes jobs until it is asked to stop, in several slots where the settings ask for them. One agent follows the other over the same state folder: one that waits for a job, then
 * one that watches the folder of the job. Returns the exit code. @throws Fault BAD_INPUT, faults that end this node
 */
export async function work(given: WorkCommand): Promise<number> {
  const { config, env, stopping } = given;
  const queue = readQueue(config);
  const slot = readSlot(config, env);
  if (slot === null && config.count("slots") > 1) return serveSlots(given, config.count("slots"));
  const onReady = slot === null ? () => {} : followStarter(stopping);
  const command = slot === null ? given : await commandOfSlot(given, slot);
  return withinMemoryAlways(command.config, async () =>
    takeJobs(command, await readWorker(command, { queue, slot, onReady })),
  );
}

async function takeJobs(command: WorkCommand, worker: JobWorker): Promise<number> {
  command.onSignal((name) => void passOn(name, { sentinel: null, running: worker.running }));
  command.onEndAtOnce(() => worker.running.program?.descendants.kill());
  while (!command.stopping.aborted) {
    const job = await waitForJob(worker);
    if (job === null || (await runJob(worker, job)) === "stop") break;
  }
  return 0;
}

/** Returns the queue to take jobs from. @throws Fault BAD_INPUT */
function readQueue(config: Config): JobWorker["queue"] {
  if (config.text("hub") === null) throw usage("--hub", "jobs come from a hub: tidemark work --hub URL --queue NAME");
  const queue = queueName.safeParse(config.text("queue") ?? DEFAULT_QUEUE);
  if (!queue.success)
    throw usage(`--queue ${config.text("queue") ?? ""}`, queue.error.issues[0]?.message ?? "not a queue");
  return queue.data;
}

async function readWorker(
  command: WorkCommand,
  about: Pick<JobWorker, "queue" | "slot" | "onReady">,
): Promise<JobWorker> {
  const { config, env, out, err, terminal, platform } = command;
  const user = readProgramUser(config.text("user"));
  const restoreMode = readRestoreMode(config.text("restore"));
  const state = command.state ?? (await stateOfWorker(command));
  if (about.slot === null) await tellLeft(terminal, { state, folders: [state] });
  const inputsFolder = resolve(config.text("work-folder") ?? "jobs");
  const folder = about.slot === null ? inputsFolder : join(inputsFolder, folderOf(about.slot));
  try {
    await mkdir(folder, { recursive: true, mode: 0o755 });
  } catch (error) {
    throw diskFault(error, { op: "work", subject: folder, otherwise: "FOLDER_UNWRITABLE" });
  }
  const running: Running = { program: null, missed: null, interruptedAtMs: null };
  const messages = createJobMessages(terminal);
  return {
    command: { ...command, state, bootId: randomUUID() },
    ...about,
    folder,
    inputsFolder,
    inputCacheBytes: config.size("input-cache"),
    env,
    out,
    err,
    user,
    restoreMode,
    graceMs: config.durationMs("grace"),
    // A later job must not inherit the worker's low priority.
    mayLower: canRestorePriority(),
    running,
    messages,
    unreported: createUnreportedEnd(state, messages),
    setbacks: { count: 0 },
    gpuMemoryBytes: await readGpuMemory(platform.searchPath, platform.visibleGpus),
    clock: systemClock,
  };
}
