import { isFault } from "#protocol/faults/fault.ts";
import type { Clock } from "../../base/clock.ts";
import type { Agent } from "../../agent/agent-assemble.ts";
import { readRoom } from "../../base/room.ts";
import { nextJob } from "../job-calls.ts";
import type { JobWorker } from "../job-worker.ts";
import { fetchAhead } from "./fetch-inputs.ts";
import type { InputCache } from "./input-cache.ts";

/** Interval at which the hub is asked for the next job. */
const ASK_MS = 60_000;
/** Interval at which a running fetch looks for work that goes first. */
const LOOK_MS = 250;
/** Share of the free disk that inputs of the next job may take: the running job and its captures write there too. */
const DISK_SHARE = 0.5;

/**
 * Fetches the inputs of the next job now and then until the signal fires. Checkpoints go first: nothing is fetched while
 * something of this worker is to be uploaded or restored, and a fetch that runs then stops. Faults end one try only.
 */
export async function keepFetchingAhead(about: {
  clock: Clock;
  signal: AbortSignal;
  /** Tells whether this worker has checkpoints to move. */
  isBusy(): boolean;
  fetch(signal: AbortSignal): Promise<void>;
}): Promise<void> {
  const { clock, signal, isBusy, fetch } = about;
  while (!signal.aborted) {
    let waitMs = LOOK_MS;
    if (!isBusy()) {
      const stop = new AbortController();
      const over = new AbortController();
      const watched = stopWhenBusy({ clock, isBusy, stop, until: over.signal });
      try {
        await fetch(AbortSignal.any([signal, stop.signal]));
        waitMs = ASK_MS;
      } catch (error) {
        if (!isFault(error)) throw error;
        if (!stop.signal.aborted) waitMs = ASK_MS;
      } finally {
        over.abort();
        await watched;
      }
    }
    await clock.sleep(waitMs, signal).catch(() => undefined);
  }
}

async function stopWhenBusy(about: {
  clock: Clock;
  isBusy(): boolean;
  stop: AbortController;
  until: AbortSignal;
}): Promise<void> {
  const { clock, isBusy, stop, until } = about;
  while (!until.aborted && !stop.signal.aborted) {
    if (isBusy()) stop.abort();
    await clock.sleep(LOOK_MS, until).catch(() => undefined);
  }
}

/** Asks the hub for the next job and fetches its inputs into the cache, if the disk has room. @throws Faults of hub and store */
export async function fetchNext(
  agent: Pick<Agent, "hub" | "options" | "session" | "throttle" | "state" | "stand">,
  worker: Pick<JobWorker, "queue" | "folder" | "slot" | "gpuMemoryBytes" | "messages">,
  { cache, signal }: { cache: InputCache; signal: AbortSignal },
): Promise<void> {
  const { queue, folder, slot, gpuMemoryBytes, messages } = worker;
  if (agent.stand.isDrained || agent.session.knows("next-job") !== true) return;
  const diskBytes = Math.floor((await readRoom(folder)).freeBytes / (slot?.of ?? 1));
  const offer = { queue, diskBytes, ...(gpuMemoryBytes !== null && { gpuMemoryBytes }) };
  const { job } = await nextJob(agent.hub, offer, { until: signal });
  if (job === null) return;
  await fetchAhead({
    agent,
    job: { id: job.id, name: job.name, attempt: null, epoch: null },
    place: { cwd: folder, spec: { inputs: job.inputs } },
    cache,
    signal,
    mostBytes: diskBytes * DISK_SHARE,
    copyId: `next-${slot?.number ?? 0}`,
    onFetch: (counts) => messages.fetchingAhead(job, counts),
  });
}
