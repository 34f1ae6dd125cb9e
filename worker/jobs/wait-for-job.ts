import { LONGEST_TAKE_SECONDS, type TakenJob } from "#protocol/jobs/node-jobs.ts";
import { isFault } from "#protocol/faults/fault.ts";
import { aborted, drain, runAgent, type Life } from "../agent/agent.ts";
import type { Agent } from "../agent/agent-assemble.ts";
import { jitter } from "../base/breaker.ts";
import { systemClock } from "../base/clock.ts";
import { readRoom } from "../base/room.ts";
import { isFatal } from "../hub-link/stream.ts";
import { takePlaceAlone } from "../supervise/take-place.ts";
import { takeJob } from "./job-calls.ts";
import type { JobWorker } from "./job-worker.ts";
import { reportEnd } from "./unreported-end.ts";

/** Pause between two questions, so that a hub that answers at once is not asked without end. */
const PAUSE_MS = 1_000;

/**
 * Waits for a job beside an agent that watches nothing: the node stays joined, follows commands of the hub and uploads what
 * earlier attempts left. A program that a killed worker left is ended first. Null: this worker was asked to stop.
 * @throws Faults that end this node, and those with which the hub refuses the question
 */
export async function waitForJob(worker: JobWorker): Promise<TakenJob | null> {
  const { command, graceMs } = worker;
  const orphan = { policy: "end" as const, patienceMs: graceMs, awaited: null };
  let taken: TakenJob | null = null;
  await runAgent(
    { ...command, watches: [], takePlace: (place) => takePlaceAlone(place, orphan, command.stopping) },
    async (agent, life) => {
      taken = await askForJob(agent, life, worker);
      if (taken !== null) return life.makeWay();
      if (!agent.signal.aborted) await drain(agent);
      life.end();
    },
  );
  return taken;
}

async function askForJob(agent: Agent, life: Life, worker: JobWorker): Promise<TakenJob | null> {
  const { hub, bootId, reporter, stand } = agent;
  const { queue, folder, messages, command } = worker;
  const signal = AbortSignal.any([life.stopping, agent.signal]);
  const stopped = aborted(signal).then(() => null);
  for (let tries = 0; !signal.aborted;) {
    let pauseMs = PAUSE_MS;
    try {
      await reportEnd(hub, command.state, messages);
      if (!stand.isDrained) {
        const diskBytes = (await readRoom(folder)).freeBytes;
        const question = { bootId, queue, holds: [], waitSeconds: LONGEST_TAKE_SECONDS, diskBytes };
        // When it is asked to stop, the goodbye gives back a job that is on its way.
        const answer = await Promise.race([takeJob(hub, question), stopped]);
        if (answer === null) return null;
        if (answer.job !== null) return answer.job;
        messages.waiting(queue, answer.why);
      }
      tries = 0;
    } catch (error) {
      if (signal.aborted) return null;
      if (!isFault(error) || isFatal(error) || error.retry === "never") throw error;
      reporter.waitingFor(error);
      pauseMs += jitter(systemClock, tries++);
    }
    await systemClock.sleep(pauseMs, signal).catch(() => undefined);
  }
  return null;
}
