import { Fault, toFault } from "#protocol/faults/fault.ts";
import { jitter } from "../base/breaker.ts";
import { reasonOf } from "../base/clock.ts";
import type { Engine } from "../transfer/engine.ts";
import { steadyRate, type Reading, type SteadyRate } from "../base/steady.ts";

/** Rate of one direction of a link, measured within a time box. */
export interface LinkRate extends SteadyRate {
  /** Bytes moved in the whole time box. */
  movedBytes: number;
  /** Width of the semaphore at the end. */
  connections: number;
}

export interface Box {
  boxMs: number;
  signal: AbortSignal;
  /** Returns the bytes that have arrived at the other end so far. */
  movedBytes(): number;
  /** Moves some bytes. Called repeatedly, and concurrently as far as the engine's semaphore permits. */
  work(signal: AbortSignal): Promise<void>;
}

const READ_EVERY_MS = 100;

/**
 * Keeps all connections of an engine busy until the time is over, and regularly reads how much has moved. Temporary failures
 * are retried within the time; a permanent failure ends the measurement.
 * @throws Fault CANCELLED, a permanent failure, or the last failure when nothing could be measured
 */
export async function runBox(engine: Engine, box: Box): Promise<LinkRate> {
  const { clock } = engine.retrier;
  const over = new AbortController();
  const signal = AbortSignal.any([box.signal, over.signal]);
  const seen: { last: Fault | null; fatal: Fault | null } = { last: null, fatal: null };
  const lane = async () => {
    for (let failures = 0; !signal.aborted;) {
      try {
        await engine.semaphore.run({ signal, size: "large" }, () => box.work(signal));
        failures = 0;
      } catch (error) {
        if (signal.aborted) return;
        seen.last = toFault(error, { op: "probe" });
        if (seen.last.retry === "never") {
          seen.fatal = seen.last;
          over.abort(seen.last);
        }
        await clock.sleep(jitter(clock, failures++), signal).catch(() => undefined);
      }
    }
  };
  const startBytes = box.movedBytes();
  const readings: Reading[] = [{ atMs: clock.now(), bytes: 0 }];
  const endMs = clock.now() + box.boxMs;
  const lanes = Array.from({ length: engine.traits.mostConnections }, lane);
  while (!signal.aborted && clock.now() < endMs) {
    await clock.sleep(Math.min(READ_EVERY_MS, endMs - clock.now()), signal).catch(() => undefined);
    readings.push({ atMs: clock.now(), bytes: box.movedBytes() - startBytes });
  }
  over.abort(new Fault("CANCELLED"));
  await Promise.all(lanes);
  if (box.signal.aborted) throw reasonOf(box.signal);
  const rate = seen.fatal === null ? steadyRate(readings) : null;
  if (rate === null) throw seen.fatal ?? seen.last ?? new Fault("STALLED", { op: "probe" });
  return { ...rate, movedBytes: readings.at(-1)?.bytes ?? 0, connections: engine.semaphore.width };
}

/** Returns a signal that fires with STALLED after `ms`, or when `signal` does. `clear` stops its timer. */
export function within(signal: AbortSignal, ms: number, subject: string) {
  const stop = new AbortController();
  const detail = `no answer within ${Math.round(ms / 1000)} s`;
  const timer = setTimeout(() => stop.abort(new Fault("STALLED", { op: "probe", subject, detail })), ms);
  return { signal: AbortSignal.any([signal, stop.signal]), clear: () => clearTimeout(timer) };
}
