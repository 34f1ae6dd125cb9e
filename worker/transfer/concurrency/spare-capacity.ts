import type { Clock } from "#worker/base/clock.ts";
import type { HttpClient } from "../http/http-client.ts";
import { hasQueue } from "./queue-delay-guard.ts";

/**
 * Tells whether a link has room for bytes that may be wasted. Rates do not show it: bytes that fill the kernel's
 * buffers look like bytes that the link carries. A handshake does: on a full link it waits in the standing queue.
 */
export interface SpareCapacity {
  /**
   * Returns whether a handshake of the last second met no queue. Starts one when there was none lately; false until it is
   * answered.
   */
  isFree(): boolean;
}

const FRESH_MS = 1_000;

export function createSpareCapacity(parts: {
  clock: Pick<Clock, "now">;
  httpClient: Pick<HttpClient, "rttMs" | "measureRtt">;
  /** Returns whether the tail pacer keeps the link's queue empty: then the lack of a queue proves nothing. */
  isDriven(): boolean;
}): SpareCapacity {
  const { clock, httpClient } = parts;
  let found: { at: number; isFree: boolean } | null = null;
  let isAsking = false;
  const ask = async () => {
    isAsking = true;
    const [presentMs, leastMs] = [await httpClient.measureRtt(), httpClient.rttMs()];
    isAsking = false;
    // An RTT that cannot be measured counts as no queue.
    const isFree = presentMs === null || leastMs === null || !hasQueue(presentMs, leastMs);
    found = { at: clock.now(), isFree };
  };
  return {
    isFree: () => {
      if (parts.isDriven()) return false;
      const isFresh = found !== null && clock.now() - found.at < FRESH_MS;
      if (isFresh && found?.isFree === true) return true;
      if (!isAsking) void ask();
      return false;
    },
  };
}
