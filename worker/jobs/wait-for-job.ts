import { ASK_AGAIN_MS, LONGEST_TAKE_SECONDS, type TakenJob } from "#protocol/jobs/node-jobs.ts";
import { isFault } from "#protocol/faults/fault.ts";
import { aborted, drain, runAgent, type Life } from "../agent/agent.ts";
import type { Agent } from "../agent/agent-assemble.ts";
import { jitter } from "../base/breaker.ts";
import type { Clock } from "../base/clock.ts";
import { readRoom } from "../base/room.ts";
import { isFatal } from "../hub-link/stream.ts";
import { takePlaceAlone } from "../supervise/take-place.ts";
import { takeJob } from "./job-calls.ts";
import type { JobWorker } from "./job-worker.ts";

/** Pause between two questions, so that a hub that answers at once is not asked without end. */
const PAUSE_MS = 1_000;
/** Longest time to tell the hub that no job is wanted. */
const LONGEST_END_MS = 2_000;
const FIRST_REST_MS = 5_000;
const LONGEST_REST_MS = 300_000;

/** Returns the wait after `count` attempts in a row that this machine could not run: half of it is jitter. */
const restMs = (clock: Clock, count: number): number =>
  count === 0
    ? 0
    : (0.5 + clock.random() / 2) * Math.min(LONGEST_REST_MS, FIRST_REST_MS * 2 ** Math.min(count - 1, 20));

/**
 * Waits for a job beside an agent that watches nothing: the node stays joined, follows commands of the hub and uploads what
 * earlier attempts left. A program that a killed worker left is ended first. Null: this worker was asked to stop.
 * @throws Faults that end this node
 */
export async function waitForJob(worker: JobWorker): Promise<TakenJob | null> {
  const { command, graceMs } = worker;
  const orphan = { policy: "end" as const, patienceMs: graceMs, awaited: null };
  let taken: TakenJob | null = null;
  await runAgent(
    { ...command, watches: [], takePlace: (place) => takePlaceAlone(place, orphan, command.stopping) },
    async (agent, life) => {
      worker.onReady();
      taken = await askForJob(agent, life, worker);
      if (taken !== null) return life.makeWay();
      if (!agent.signal.aborted) await drain(agent);
      life.end();
    },
  );
  return taken;
}

/** Asks until a job comes or this worker is asked to stop (null). The end of the last attempt goes first. */
export async function askForJob(
  agent: Pick<Agent, "hub" | "bootId" | "reporter" | "stand" | "jobWait" | "signal">,
  life: Pick<Life, "stopping">,
  worker: Pick<
    JobWorker,
    "queue" | "folder" | "slot" | "messages" | "unreported" | "setbacks" | "gpuMemoryBytes" | "clock"
  >,
): Promise<TakenJob | null> {
  const { hub, bootId, reporter, stand, jobWait } = agent;
  const { queue, folder, slot, messages, unreported, setbacks, gpuMemoryBytes, clock } = worker;
  const signal = AbortSignal.any([life.stopping, agent.signal]);
  const stopped = aborted(signal).then(() => null);
  /** Ends the search of the hub. Uploads may take minutes before the goodbye, and the hub would assign a job meanwhile. */
  const askNoMore = async () => {
    if (agent.signal.aborted) return;
    const told = takeJob(hub, { bootId, queue, holds: [], ends: true }).catch(() => undefined);
    await Promise.race([told, clock.sleep(LONGEST_END_MS, agent.signal).catch(() => undefined)]);
  };
  let rest = restMs(clock, setbacks.count);
  for (let tries = 0; !signal.aborted;) {
    let pauseMs = PAUSE_MS;
    try {
      await unreported.send(hub);
      if (rest > 0) {
        messages.restsAfterTrouble(rest);
        const wait = clock.sleep(rest, signal);
        rest = 0;
        await wait;
      }
      if (!stand.isDrained) {
        // Jobs of the other slots write to the same disk.
        const diskBytes = Math.floor((await readRoom(folder)).freeBytes / (slot?.of ?? 1));
        const waits = { waitSeconds: LONGEST_TAKE_SECONDS, movesBytes: true, listens: true } as const;
        const question = {
          bootId,
          queue,
          holds: [],
          ...waits,
          diskBytes,
          ...(gpuMemoryBytes !== null && { gpuMemoryBytes }),
        };
        // When it is asked to stop, the goodbye gives back a job that is on its way.
        const answer = await Promise.race([takeJob(hub, question), stopped]);
        if (answer === null) {
          await askNoMore();
          return null;
        }
        if (answer.job !== null) return answer.job;
        messages.waiting(queue, answer.why);
        if (answer.notifies === true) {
          pauseMs = 0;
          const waitMs = ASK_AGAIN_MS * (0.75 + clock.random() / 4);
          await Promise.race([jobWait.wait(waitMs), stopped]);
          if (life.stopping.aborted || stand.isDrained) await askNoMore();
        }
      }
      tries = 0;
    } catch (error) {
      if (signal.aborted) return null;
      // A fault that a person has to mend, such as a missing right, does not end the node: it may be mended while the node waits.
      if (!isFault(error) || isFatal(error)) throw error;
      reporter.waitingFor(error);
      pauseMs += jitter(clock, tries++);
    }
    await clock.sleep(pauseMs, signal).catch(() => undefined);
  }
  return null;
}
