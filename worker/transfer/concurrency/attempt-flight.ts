import { Fault } from "#protocol/faults/fault.ts";
import type { Clock } from "#worker/base/clock.ts";
import { whenAborted } from "#worker/base/when-aborted.ts";
import { BEGUN_ANEW, SHED, type Flight, type Flying } from "./flight.ts";
import type { LatencyEstimator } from "./latency-estimator.ts";
import type { Semaphore } from "./semaphore.ts";

/** Dependencies that the attempts of all flights share. */
export interface FlightControl {
  clock: Clock;
  semaphore: Semaphore;
  memory: LatencyEstimator;
  /** Registers a flight; from now on it may be hedged, restarted or shed. */
  enter(flight: Flying): void;
  leave(flight: Flying): void;
}

/**
 * Runs the attempts of one flight: the first one, a second one in parallel after `hedge()`, or a replacement after
 * `beginAnew()`. Resolves with the first success, once all attempts have ended; rejects with the first attempt's failure, or
 * with `SHED`.
 */
export function attemptFlight<T>(control: FlightControl, flight: Flight<T>): Promise<T> {
  const { clock, semaphore, memory, enter, leave } = control;
  const stops: AbortController[] = [];
  const running = new Set<Promise<void>>();
  const startedAt = clock.now();
  const outcome = Promise.withResolvers<T>();
  let firstFailure: unknown;
  let isWon = false;

  const won = async (result: T, stop: AbortController) => {
    isWon = true;
    leave(me);
    for (const other of stops) if (other !== stop) other.abort(new Fault("CANCELLED"));
    memory.landed(flight.lengthBytes, clock.now() - startedAt);
    // The losing attempt must have stopped reading the file before the caller learns of the success.
    await Promise.allSettled(running);
    outcome.resolve(result);
  };
  const lost = (error: unknown, about: { stop: AbortController; isHedge: boolean }) => {
    if (isWon) return;
    if (about.stop.signal.reason === BEGUN_ANEW && !flight.signal.aborted) {
      me.movedBytes = 0;
      me.startedAt = clock.now();
      begin(false);
      return;
    }
    if (about.stop.signal.reason === SHED && !flight.signal.aborted) firstFailure = SHED;
    else if (!about.isHedge) firstFailure = error;
    if (running.size > 0) return;
    leave(me);
    outcome.reject(firstFailure ?? error);
  };
  const begin = (isHedge: boolean) => {
    const stop = new AbortController();
    stops.push(stop);
    const { signal } = stop;
    // One `AbortSignal.any` per attempt would use too much memory: there are thousands of attempts.
    const pass = () => stop.abort(flight.signal.reason);
    if (flight.signal.aborted) pass();
    const forget = whenAborted(flight.signal, pass);
    const onMoved = (bytes: number) => {
      if (!isHedge) me.movedBytes += bytes;
    };
    const work = () => flight.attempt({ signal, isHedge, onMoved });
    const one = async () => {
      try {
        const result = isHedge ? await semaphore.run({ signal, size: "large" }, work) : await work();
        running.delete(done);
        await won(result, stop);
      } catch (error) {
        running.delete(done);
        lost(error, { stop, isHedge });
      } finally {
        forget();
      }
    };
    const done = one();
    running.add(done);
  };
  const me: Flying = {
    lengthBytes: flight.lengthBytes,
    startedAt,
    movedBytes: 0,
    isHedged: false,
    isSmall: flight.isSmall,
    mayShed: flight.mayShed,
    mayRepeat: flight.mayRepeat,
    wasBegunAnew: false,
    hedge: () => {
      me.isHedged = true;
      begin(true);
    },
    beginAnew: () => {
      me.wasBegunAnew = true;
      stops[0]?.abort(BEGUN_ANEW);
    },
    shed: () => {
      for (const stop of stops) stop.abort(SHED);
    },
  };
  enter(me);
  begin(false);
  return outcome.promise;
}
