import { Fault } from "#protocol/faults/fault.ts";

/**
 * Runs costly tasks, a few at a time. Callers take turns: a caller with a thousand requests has one task running and a few
 * waiting, and does not delay the others.
 */

export interface FairQueue {
  /**
   * Runs `task` when it is the turn of `caller`.
   * @throws Fault TOO_MANY_TRIES when this caller, or all of them together, have too many tasks waiting
   */
  run: <T>(caller: string, task: () => Promise<T>) => Promise<T>;
}

export interface QueueLimits {
  atOnce: number;
  /** The limit per caller. */
  atOnceEach: number;
  waiting: number;
  waitingEach: number;
}

interface Lane {
  running: number;
  waiting: (() => void)[];
}

export function createFairQueue(limits: QueueLimits): FairQueue {
  /** In round-robin order: a caller that was served moves to the end. */
  const lanes = new Map<string, Lane>();
  let running = 0;
  let waiting = 0;

  const laneOf = (caller: string): Lane => {
    const known = lanes.get(caller);
    if (known !== undefined) return known;
    const lane: Lane = { running: 0, waiting: [] };
    lanes.set(caller, lane);
    return lane;
  };

  const startNext = (): void => {
    for (const lane of lanes.values()) {
      if (running >= limits.atOnce) return;
      if (lane.running >= limits.atOnceEach) continue;
      const start = lane.waiting.shift();
      if (start === undefined) continue;
      waiting--;
      running++;
      lane.running++;
      start();
      startNext();
      return;
    }
  };

  /** Waits for the turn of `caller`, and returns its lane. A refused caller gets no lane, or it would keep a place in the order. */
  const enter = async (caller: string): Promise<Lane> => {
    const waitingHere = lanes.get(caller)?.waiting.length ?? 0;
    if (waitingHere >= limits.waitingEach || waiting >= limits.waiting) {
      throw new Fault("TOO_MANY_TRIES", { detail: "too much is asked for at once", retryAfterMs: 1_000 });
    }
    const lane = laneOf(caller);
    const { promise, resolve } = Promise.withResolvers<undefined>();
    lane.waiting.push(() => resolve(undefined));
    waiting++;
    startNext();
    await promise;
    return lane;
  };

  return {
    run: async (caller, task) => {
      const lane = await enter(caller);
      try {
        return await task();
      } finally {
        running--;
        lane.running--;
        lanes.delete(caller);
        if (lane.running > 0 || lane.waiting.length > 0) lanes.set(caller, lane);
        startNext();
      }
    },
  };
}
