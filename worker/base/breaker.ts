import type { Clock } from "./clock.ts";
import { reasonOf, throwIfAborted } from "./clock.ts";

/**
 * One breaker per endpoint. While the link is down, a hundred parts that each try for themselves would only make it worse. So
 * exactly one part probes after a jittered wait, and the others sleep. The first success wakes all of them.
 */
export interface Breaker {
  /**
   * Resolves at once while the link is up. While it is down, one caller resolves after a wait and is the probe. The others
   * resolve when the link is up, or with "late" when they are woken and `isTooLate` returns true.
   */
  pass(signal: AbortSignal, isTooLate?: () => boolean): Promise<Ticket | "late">;
  /** Called when bytes or an answer arrived: the link works. */
  up(): void;
  /** Called when the link failed. */
  down(ticket: Ticket): void;
  /** Called when the caller gives up without having learned anything about the link. */
  release(ticket: Ticket): void;
  readonly isDown: boolean;
  /** Returns how long the link has been down; 0 while it is up. */
  downMs(): number;
}

export type Ticket = "probe" | "free";

const FIRST_WAIT_MS = 100;
const MAX_WAIT_MS = 5_000;

/** Returns the wait before try number `tries` (from 0): full jitter, at most 5 s. */
export const jitter = (clock: Clock, tries: number): number =>
  clock.random() * Math.min(MAX_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(tries, 20));

export function createBreaker(clock: Clock): Breaker {
  const link = { isDown: false, probing: false, failedProbes: 0, downSince: 0 };
  const sleepers = new Set<() => void>();

  const wakeAll = () => {
    const all = [...sleepers];
    sleepers.clear();
    for (const wake of all) wake();
  };
  const wakeOne = () => {
    for (const wake of sleepers) {
      sleepers.delete(wake);
      wake();
      return;
    }
  };
  const sleepUntilWoken = (signal: AbortSignal) =>
    new Promise<void>((resolve, reject) => {
      const wake = () => {
        signal.removeEventListener("abort", stop);
        resolve();
      };
      const stop = () => {
        sleepers.delete(wake);
        reject(reasonOf(signal));
      };
      sleepers.add(wake);
      signal.addEventListener("abort", stop, { once: true });
    });
  const stopProbing = () => {
    link.probing = false;
    wakeOne();
  };

  return {
    get isDown() {
      return link.isDown;
    },
    downMs: () => (link.isDown ? clock.now() - link.downSince : 0),
    pass: async (signal, isTooLate = () => false) => {
      throwIfAborted(signal);
      while (link.isDown) {
        if (isTooLate()) {
          if (!link.probing) wakeOne();
          return "late";
        }
        if (link.probing) {
          await sleepUntilWoken(signal);
          continue;
        }
        link.probing = true;
        try {
          await clock.sleep(jitter(clock, link.failedProbes), signal);
        } catch (error) {
          stopProbing();
          throw error;
        }
        return "probe";
      }
      return "free";
    },
    up: () => {
      if (!link.isDown) return;
      link.isDown = false;
      link.probing = false;
      link.failedProbes = 0;
      wakeAll();
    },
    down: (ticket) => {
      if (!link.isDown) link.downSince = clock.now();
      link.isDown = true;
      if (ticket === "free") return;
      link.failedProbes++;
      stopProbing();
    },
    release: (ticket) => {
      if (ticket === "probe" && link.isDown) stopProbing();
    },
  };
}
