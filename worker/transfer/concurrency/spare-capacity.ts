import type { Clock } from "#worker/base/clock.ts";
import type { Wire } from "../http/http-client.ts";
import { hasQueue } from "./queue-delay-guard.ts";

/**
 * Whether a link has room for bytes that may turn out to be sent for nothing. Rates do not tell: what the kernel's buffers take
 * looks like a link that carries it. A handshake does: on a full link it waits in the queue that stands there.
 */
export interface LinkRoom {
  /** Whether a handshake of the last second met no queue. Asks for one where there was none lately; false until it is answered. */
  isFree(): boolean;
}

const FRESH_MS = 1_000;

export function createLinkRoom(parts: {
  clock: Pick<Clock, "now">;
  wire: Pick<Wire, "rttMs" | "measureRtt">;
  /** Its queue is kept empty by ourselves: that none stands says nothing. */
  isDriven(): boolean;
}): LinkRoom {
  const { clock, wire } = parts;
  let found: { at: number; isFree: boolean } | null = null;
  let isAsking = false;
  const ask = async () => {
    isAsking = true;
    const [presentMs, leastMs] = [await wire.measureRtt(), wire.rttMs()];
    isAsking = false;
    // Where it cannot be told, nothing speaks against it.
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
