import { Fault } from "#protocol/faults/fault.ts";
import { ENGINES } from "#protocol/benchmarks/engines.ts";
import { formatBytes, formatDuration } from "#protocol/base/units.ts";
import type { FaultCode } from "#protocol/faults/fault-table.ts";
import { BY_CODE } from "#storage/answers/fault-codes.ts";
import type { Driver, ToolEnd } from "./driver.ts";

/**
 * Returns the Fault of an engine's process; null when it succeeded. The code comes from its machine-readable output, else
 * from its documented exit code, else from an S3 error code in its log. S3 error codes are protocol, so the program's own
 * wording is never parsed. Without any of these the code is ENGINE_FAILED, and the log is for people to read.
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

/** Returns the Fault code of the last S3 error code in a log; the program retried after the earlier ones. */
function codeInWords(log: string): FaultCode | undefined {
  const words = log.match(/[A-Z][A-Za-z]{3,}/g) ?? [];
  const known = words.findLast((word) => Object.hasOwn(BY_CODE, word));
  return known === undefined ? undefined : BY_CODE[known];
}
