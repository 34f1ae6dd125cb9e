import { Fault } from "#protocol/faults/fault.ts";
import { parseDuration } from "#protocol/wire/read-units.ts";

/** How long history is kept. A period shorter than the range of a chart leaves gaps in it. */
export interface Retention {
  /** Minutes of each node. */
  rawMs: number;
  /** Minutes of all nodes together. */
  minuteMs: number;
  /** Hours of each node, and of all together. */
  hourMs: number;
  dayMs: number;
  /** Probes and transfers, one by one. */
  recordMs: number;
}

const DAY_MS = 86_400_000;
const LEAST_MS = 2 * DAY_MS;

export const DEFAULT_RETENTION: Retention = {
  rawMs: 7 * DAY_MS,
  minuteMs: 14 * DAY_MS,
  hourMs: 90 * DAY_MS,
  dayMs: 730 * DAY_MS,
  recordMs: 90 * DAY_MS,
};

/** Reads the periods from the environment. @throws Fault BAD_INPUT, naming the variable */
export function readRetention(variables: Readonly<Record<string, string | undefined>>): Retention {
  const read = (name: string, otherwise: number): number => {
    const text = variables[name]?.trim() ?? "";
    if (text === "") return otherwise;
    const ms = durationOf(text);
    if (ms !== null && ms >= LEAST_MS) return ms;
    throw new Fault("BAD_INPUT", { subject: name, detail: "it is two days or more, for example 7d" });
  };
  return {
    rawMs: read("TIDEMARK_KEEP_RAW", DEFAULT_RETENTION.rawMs),
    minuteMs: read("TIDEMARK_KEEP_MINUTES", DEFAULT_RETENTION.minuteMs),
    hourMs: read("TIDEMARK_KEEP_HOURS", DEFAULT_RETENTION.hourMs),
    dayMs: read("TIDEMARK_KEEP_DAYS", DEFAULT_RETENTION.dayMs),
    recordMs: read("TIDEMARK_KEEP_TRANSFERS", DEFAULT_RETENTION.recordMs),
  };
}

function durationOf(text: string): number | null {
  try {
    return parseDuration(text);
  } catch {
    return null;
  }
}
