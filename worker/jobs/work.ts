import { randomUUID } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { resolve } from "node:path";
import { DEFAULT_QUEUE, queueName } from "#protocol/jobs/job-spec.ts";
import { stateOfWorker, type AgentCommand } from "../agent/agent.ts";
import { systemClock } from "../base/clock.ts";
import { diskFault } from "../base/disk-fault.ts";
import type { Environment } from "../base/environment.ts";
import { usage } from "../command-line/verb.ts";
import { readGpuMemory } from "../host/facts.ts";
import { canRestorePriority } from "../host/nice.ts";
import { readProgramUser } from "../program/program-user.ts";
import { readRestoreMode } from "../supervise/restore-others.ts";
import { passOn, type Running, type Supervision } from "../supervise/supervise.ts";
import { createJobMessages } from "./job-messages.ts";
import type { JobWorker } from "./job-worker.ts";
import { runJob } from "./run-job.ts";
import { createUnreportedEnd } from "./unreported-end.ts";
import { waitForJob } from "./wait-for-job.ts";

/** Input of `tidemark work`, which takes one job of a queue after the other. */
export interface WorkCommand extends AgentCommand {
  env: Environment;
  out: Supervision["out"];
  err: Supervision["err"];
  /** Calls `listener` for every signal that the program should get. */
  onSignal(listener: (name: NodeJS.Signals) => void): void;
  /** Calls `act` when this process exits immediately, after a second signal or at the end of the grace period. */
  onEndAtOnce(act: () => void): void;
}

/**
 * Takes jobs until it is asked to stop. One agent follows the other over the same state folder: one that waits for a job, then
 * one that watches the folder of the job. Returns the exit code. @throws Fault BAD_INPUT, faults that end this node
 */
export async function work(command: WorkCommand): Promise<number> {
  const worker = await readWorker(command);
  command.onSignal((name) => void passOn(name, { sentinel: null, running: worker.running }));
  command.onEndAtOnce(() => worker.running.program?.descendants.kill());
  while (!command.stopping.aborted) {
    const job = await waitForJob(worker);
    if (job === null || (await runJob(worker, job)) === "stop") break;
  }
  return 0;
}

async function readWorker(command: WorkCommand): Promise<JobWorker> {
  const { config, env, out, err, terminal, platform } = command;
  if (config.text("hub") === null) throw usage("--hub", "jobs come from a hub: tidemark work --hub URL --queue NAME");
  const queue = queueName.safeParse(config.text("queue") ?? DEFAULT_QUEUE);
  if (!queue.success)
    throw usage(`--queue ${config.text("queue") ?? ""}`, queue.error.issues[0]?.message ?? "not a queue");
  const user = readProgramUser(config.text("user"));
  const wish = readRestoreMode(config.text("restore"));
  const state = await stateOfWorker(command);
  const folder = resolve(config.text("work-folder") ?? "jobs");
  try {
    await mkdir(folder, { recursive: true, mode: 0o755 });
  } catch (error) {
    throw diskFault(error, { op: "work", subject: folder, otherwise: "FOLDER_UNWRITABLE" });
  }
  const running: Running = { program: null, missed: null, interruptedAtMs: null };
  const messages = createJobMessages(terminal);
  return {
    command: { ...command, state, bootId: randomUUID() },
    queue: queue.data,
    folder,
    inputCacheBytes: config.size("input-cache"),
    env,
    out,
    err,
    user,
    wish,
    graceMs: config.durationMs("grace"),
    // A later job must not inherit the worker's low priority.
    mayLower: canRestorePriority(),
    running,
    messages,
    unreported: createUnreportedEnd(state, messages),
    setbacks: { count: 0 },
    gpuMemoryBytes: await readGpuMemory(platform.searchPath),
    clock: systemClock,
  };
}
