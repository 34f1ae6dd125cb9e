import { Fault } from "#protocol/fault.ts";
import type { Clock } from "./clock.ts";
import type { Gate } from "./gate.ts";

/**
 * The last seconds of an upload belong to its slowest part: one connection on a bad path, while all others stand idle. When
 * nothing is waiting any more, a part that has been on its way far longer than its siblings took is sent a second time
 * beside the first try; whichever is acknowledged first counts, and the other is dropped.
 */
export interface Hedges {
  /**
   * Runs `attempt`, and perhaps once more beside it. Resolves with the first success, when both have ended; rejects with
   * the first attempt's failure when neither succeeds.
   */
  run<T>(flight: Flight<T>): Promise<T>;
}

export interface Flight<T> {
  signal: AbortSignal;
  /** Only flights of about the same length are compared with each other. */
  lengthBytes: number;
  attempt(about: { signal: AbortSignal; isHedge: boolean }): Promise<T>;
}

/** Late is: longer than this times the middle one of its siblings, and a little more. */
const LATE_FACTOR = 2.5;
const LATE_MS = 500;
/** From so many siblings on there is something to compare with. */
const LEAST_LANDED = 3;
const MOST_REMEMBERED = 32;
const LOOK_EVERY_MS = 250;

interface Flying {
  lengthBytes: number;
  startedAt: number;
  isHedged: boolean;
  hedge(): void;
}

export function createHedges(parts: { clock: Clock; gate: Gate }): Hedges {
  const { clock, gate } = parts;
  const flying = new Set<Flying>();
  let landed: { lengthBytes: number; tookMs: number }[] = [];
  let timer: NodeJS.Timeout | null = null;

  /** Milliseconds that a part of this length usually takes; null when too few are known. */
  const usualMs = (lengthBytes: number): number | null => {
    const alike = landed.filter((other) => other.lengthBytes === lengthBytes).map(({ tookMs }) => tookMs);
    if (alike.length < LEAST_LANDED) return null;
    return alike.sort((a, b) => a - b)[Math.floor(alike.length / 2)] ?? null;
  };
  const look = () => {
    if (flying.size === 0) {
      if (timer !== null) clearInterval(timer);
      timer = null;
      return;
    }
    if (gate.waiting > 0 || gate.held >= gate.width) return;
    const now = clock.now();
    let latest: Flying | null = null;
    for (const flight of flying) {
      const usual = usualMs(flight.lengthBytes);
      if (flight.isHedged || usual === null || now - flight.startedAt < usual * LATE_FACTOR + LATE_MS) continue;
      if (latest === null || flight.startedAt < latest.startedAt) latest = flight;
    }
    latest?.hedge();
  };

  return {
    run: async <T>(flight: Flight<T>): Promise<T> => {
      timer ??= setInterval(look, LOOK_EVERY_MS).unref();
      const stops: AbortController[] = [];
      const running: Promise<unknown>[] = [];
      const startedAt = clock.now();
      let firstFailure: unknown;
      let failures = 0;
      return new Promise<T>((resolve, reject) => {
        const begin = (isHedge: boolean) => {
          const stop = new AbortController();
          stops.push(stop);
          const signal = AbortSignal.any([flight.signal, stop.signal]);
          const work = () => flight.attempt({ signal, isHedge });
          const done = (isHedge ? gate.run({ signal, size: "large" }, work) : work()).then(
            async (result) => {
              flying.delete(me);
              for (const other of stops) if (other !== stop) other.abort(new Fault("CANCELLED"));
              landed = [
                ...landed.slice(1 - MOST_REMEMBERED),
                { lengthBytes: flight.lengthBytes, tookMs: clock.now() - startedAt },
              ];
              // Nothing of the loser may still read from the file when the winner is reported.
              await Promise.allSettled(running.filter((other) => other !== done));
              resolve(result);
            },
            (error: unknown) => {
              if (!isHedge) firstFailure = error;
              failures++;
              if (failures < running.length) return;
              flying.delete(me);
              reject(firstFailure ?? error);
            },
          );
          running.push(done);
        };
        const me: Flying = {
          lengthBytes: flight.lengthBytes,
          startedAt,
          isHedged: false,
          hedge: () => {
            me.isHedged = true;
            begin(true);
          },
        };
        flying.add(me);
        begin(false);
      });
    },
  };
}
