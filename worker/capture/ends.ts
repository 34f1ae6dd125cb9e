import type { Capture } from "./capture.ts";

/** Tells waiters how a capture ended, because the ledger forgets ended captures. */
export interface Ends {
  tell(capture: Capture): void;
  /** Resolves with the capture in the state it ended in, also when that was a moment ago. */
  of(id: string, signal: AbortSignal): Promise<Capture>;
}

/** Limit of ended captures that are remembered, for waiters that ask a moment too late. */
const MOST_KNOWN = 256;

export function createEnds(): Ends {
  const known = new Map<string, Capture>();
  const waiting = new Map<string, ((capture: Capture) => void)[]>();
  return {
    tell: (capture) => {
      const copy = { ...capture };
      known.delete(copy.id);
      known.set(copy.id, copy);
      const [oldest] = known.keys();
      if (known.size > MOST_KNOWN && oldest !== undefined) known.delete(oldest);
      for (const hear of waiting.get(copy.id) ?? []) hear(copy);
      waiting.delete(copy.id);
    },
    of: (id, signal) => {
      const ended = known.get(id);
      if (ended !== undefined) return Promise.resolve(ended);
      return new Promise((resolve, reject) => {
        const leave = () => {
          const left = (waiting.get(id) ?? []).filter((one) => one !== hear);
          if (left.length === 0) waiting.delete(id);
          else waiting.set(id, left);
          reject(signal.reason);
        };
        const hear = (capture: Capture) => {
          signal.removeEventListener("abort", leave);
          resolve(capture);
        };
        waiting.set(id, [...(waiting.get(id) ?? []), hear]);
        if (signal.aborted) leave();
        else signal.addEventListener("abort", leave, { once: true });
      });
    },
  };
}
