import { countUp, type Counters } from "./counters.ts";
import type { Log } from "./log.ts";

/**
 * Detects stalls of the event loop, and which procedures were running then. The delay of a timer measures a stall; the procedures
 * that were open meanwhile are its possible causes.
 */
export interface LoopWatch {
  /** Notes that a procedure is running. Call the returned function at its end. */
  enter(procedure: string): () => void;
  /** The longest stall since the hub started, ms. */
  readonly longestMs: number;
  /** Longest stall in which this thread was running; during the others the machine did not schedule it. */
  readonly longestBusyMs: number;
  stop(): void;
}

const LOOK_EVERY_MS = 50;
/** Shortest stall that is logged by name; shorter ones are in the percentiles of the delay. */
const STALL_MS = 200;
const NAMED = 5;

function workedMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

export function createLoopWatch(about: {
  counters: Pick<Counters, "stalls">;
  log: Pick<Log, "warn">;
  now?: () => number;
  /** Processor time of this thread, ms. */
  worked?: () => number;
}): LoopWatch & { look: () => void } {
  const { counters, log, now = () => performance.now(), worked = workedMs } = about;
  /** Running procedures with their number, and those that began since the last look. */
  const open = new Map<string, number>();
  let since = new Set<string>();
  let last: string | null = null;
  let lookedAt = now();
  let workedAt = worked();
  let longestMs = 0;
  let longestBusyMs = 0;
  const look = (): void => {
    const at = now();
    const lateMs = at - lookedAt - LOOK_EVERY_MS;
    lookedAt = at;
    const busyMs = Math.min(lateMs, worked() - workedAt);
    workedAt = worked();
    longestMs = Math.max(longestMs, lateMs);
    longestBusyMs = Math.max(longestBusyMs, busyMs);
    if (lateMs > STALL_MS) {
      const procedures = [...new Set([...since, ...open.keys()])].slice(0, NAMED);
      countUp(counters.stalls, last ?? "none");
      const times = { lateMs: Math.round(lateMs), busyMs: Math.round(busyMs) };
      log.warn({ ...times, last, procedures }, "the event loop stood still");
    }
    since = new Set();
    if (open.size === 0) last = null;
  };
  const timer = setInterval(look, LOOK_EVERY_MS);
  timer.unref();
  return {
    enter: (procedure) => {
      last = procedure;
      since.add(procedure);
      open.set(procedure, (open.get(procedure) ?? 0) + 1);
      return () => {
        const left = (open.get(procedure) ?? 1) - 1;
        if (left === 0) open.delete(procedure);
        else open.set(procedure, left);
      };
    },
    get longestMs() {
      return longestMs;
    },
    get longestBusyMs() {
      return longestBusyMs;
    },
    stop: () => clearInterval(timer),
    look,
  };
}
