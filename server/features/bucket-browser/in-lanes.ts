import { setTimeout as sleep } from "node:timers/promises";
import type { PlanBucketJob } from "#protocol/buckets/bucket-jobs.ts";
import { Fault, toFault } from "#protocol/faults/fault.ts";
import type { Hub } from "#server/core/api/hub.ts";
import type { OpenStore } from "#server/core/api/ports/stores.ts";
import type { PlannedObject } from "./gather-plan.ts";
import type { JobProgress } from "#server/core/live/job-board.ts";

/** Processes the objects of a chunk: several at once, with retries, and with a result for each object. */

export interface Chunk {
  hub: Hub;
  store: OpenStore;
  jobId: string;
  asked: PlanBucketJob;
  objects: readonly PlannedObject[];
  progress: JobProgress;
  /** Called after each object. */
  onMoved: () => void;
}

const AT_A_TIME = 6;
const TRIES = 4;
const FIRST_WAIT_MS = 500;

export interface Ends {
  succeed: (object: PlannedObject) => void;
  fail: (key: string, fault: Fault) => void;
}

/** Returns whether a fault concerns more than one object. Such a fault ends the chunk, and the caller decides about the job. */
const isWide = (fault: Fault): boolean =>
  fault.retry !== "never" ||
  ["CANCELLED", "BAD_CREDENTIALS", "NO_SUCH_BUCKET", "DELETIONS_OFF", "CLOCK_SKEW", "WRONG_REGION"].includes(
    fault.code,
  );

export async function withPatience<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      const fault = toFault(error);
      if (fault.retry === "never" || attempt >= TRIES || signal.aborted) throw fault;
      await sleep(FIRST_WAIT_MS * 2 ** attempt, null, { signal }).catch(() => undefined);
      if (signal.aborted) throw new Fault("CANCELLED", { op: "bucket job" });
    }
  }
}

/** Runs `work` for several objects at once. A fault of one object goes to `fail`; one that concerns all ends the chunk. */
export async function inLanes(
  objects: readonly PlannedObject[],
  { succeed, fail }: Ends,
  work: (object: PlannedObject) => Promise<void>,
): Promise<void> {
  const queue = objects.values();
  let wide: Fault | null = null;
  const lane = async () => {
    for (const object of queue) {
      if (wide !== null) return;
      try {
        await work(object);
        succeed(object);
      } catch (error) {
        const fault = toFault(error);
        if (isWide(fault)) wide = fault;
        else fail(object.key, fault);
      }
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, lane));
  if (wide !== null) throw wide;
}
