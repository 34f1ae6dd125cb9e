import { Fault } from "#protocol/faults/fault.ts";
import { ENGINES } from "#protocol/benchmarks/engines.ts";
import { formatBytes, formatDuration } from "#protocol/base/units.ts";
import type { FaultCode } from "#protocol/faults/fault-table.ts";
import { BY_CODE } from "#storage/answers/fault-codes.ts";
import type { Driver, ToolEnd } from "./driver.ts";

/**
 * Why a program of somebody else failed, as one of our codes. What it says for programs comes first, then its exit code
 * where it means something, then the store's own code where it stands as a word in what it wrote: that is the protocol's
 * vocabulary and not the program's prose, which nothing here reads. Else it has failed, and its log is there for people.
 */
export function judgeEnd(driver: Driver, end: ToolEnd, limits: { timeMs: number; memoryBytes: number }): Fault | null {
  const about = { op: "bench", subject: ENGINES[driver.name].title };
  switch (end.endedBy) {
    case "cancelled":
      return new Fault("CANCELLED", { op: "bench" });
    case "time":
      return new Fault("ENGINE_TIME_LIMIT", { ...about, detail: formatDuration(limits.timeMs) });
    case "memory":
      return new Fault("ENGINE_MEMORY_LIMIT", { ...about, detail: formatBytes(limits.memoryBytes) });
    case "itself":
      break;
  }
  if (end.code === 0) return null;
  const code =
    driver.explain?.(end) ?? (end.code === null ? undefined : driver.exits[end.code]) ?? codeInWords(end.log);
  const how = end.code === null ? `ended by ${end.signal ?? "a signal"}` : `exit code ${end.code}`;
  return new Fault(code ?? "ENGINE_FAILED", { ...about, detail: how });
}

/** The last one it wrote: the ones before it were tried again. */
function codeInWords(log: string): FaultCode | undefined {
  const words = log.match(/[A-Z][A-Za-z]{3,}/g) ?? [];
  const known = words.findLast((word) => Object.hasOwn(BY_CODE, word));
  return known === undefined ? undefined : BY_CODE[known];
}
