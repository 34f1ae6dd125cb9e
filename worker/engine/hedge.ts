import { Fault } from "#protocol/fault.ts";
import type { Clock } from "./clock.ts";
import type { Gate } from "./gate.ts";

/**
 * The last seconds of an upload belong to its slowest part: one connection on a bad path, while all others stand idle.
 * Against that there are two means. A part that is far slower than those beside it is begun anew on another connection,
 * as long as little of it is gone: a connection that lost its first packets stays slow for longer than a part takes. And
 * when nothing is waiting any more, a part that has been on its way far longer than its siblings took is sent a second
 * time beside the first try; whichever is acknowledged first counts, and the other is dropped.
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
  /** Tells `onMoved` of every byte that went out. */
  attempt(about: { signal: AbortSignal; isHedge: boolean; onMoved(bytes: number): void }): Promise<T>;
}

/** Late is: longer than this times the middle one of its siblings, and a little more. */
const LATE_FACTOR = 2.5;
const LATE_MS = 500;
/** From so many siblings on there is something to compare with. */
const LEAST_LANDED = 3;
const MOST_REMEMBERED = 32;
const LOOK_EVERY_MS = 250;
/** Slow is: a third of the middle rate of those beside it, when both had time to show what they can. */
const SLOW_SHARE = 0.35;
const SHOWN_MS = 1_500;
const LEAST_BESIDE = 4;
/** Begun anew only while less than this is gone. */
const GONE_SHARE = 0.3;

interface Flying {
  lengthBytes: number;
  startedAt: number;
  movedBytes: number;
  isHedged: boolean;
  wasBegunAnew: boolean;
  hedge(): void;
  beginAnew(): void;
}

const BEGUN_ANEW = new Fault("CANCELLED", { detail: "it is begun anew on another connection" });

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
  const beginSlowAnew = (now: number) => {
    const shown = [...flying].filter((flight) => !flight.isHedged && now - flight.startedAt >= SHOWN_MS);
    if (shown.length <= LEAST_BESIDE) return;
    const rateOf = ({ movedBytes, startedAt }: Flying) => movedBytes / (now - startedAt);
    const rates = shown.map(rateOf).sort((a, b) => a - b);
    const slow = (rates[Math.floor(rates.length / 2)] ?? 0) * SLOW_SHARE;
    for (const flight of shown) {
      const isEarly = flight.movedBytes < flight.lengthBytes * GONE_SHARE;
      if (isEarly && !flight.wasBegunAnew && rateOf(flight) < slow) flight.beginAnew();
    }
  };
  const look = () => {
    if (flying.size === 0) {
      if (timer !== null) clearInterval(timer);
      timer = null;
      return;
    }
    const now = clock.now();
    beginSlowAnew(now);
    if (gate.waiting > 0 || gate.held >= gate.width) return;
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
          const onMoved = (bytes: number) => {
            if (!isHedge) me.movedBytes += bytes;
          };
          const work = () => flight.attempt({ signal, isHedge, onMoved });
          const done = (isHedge ? gate.run({ signal, size: "large" }, work) : work()).then(
            async (result) => {
              flying.delete(me);
              for (const other of stops) if (other !== stop) other.abort(new Fault("CANCELLED"));
              const tookMs = clock.now() - startedAt;
              landed = [...landed.slice(1 - MOST_REMEMBERED), { lengthBytes: flight.lengthBytes, tookMs }];
              // Nothing of the loser may still read from the file when the winner is reported.
              await Promise.allSettled(running.filter((other) => other !== done));
              resolve(result);
            },
            (error: unknown) => {
              if (stop.signal.reason === BEGUN_ANEW && !flight.signal.aborted) {
                me.movedBytes = 0;
                me.startedAt = clock.now();
                running.splice(running.indexOf(done), 1);
                begin(false);
                return;
              }
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
          movedBytes: 0,
          isHedged: false,
          wasBegunAnew: false,
          hedge: () => {
            me.isHedged = true;
            begin(true);
          },
          beginAnew: () => {
            me.wasBegunAnew = true;
            stops[0]?.abort(BEGUN_ANEW);
          },
        };
        flying.add(me);
        begin(false);
      });
    },
  };
}
