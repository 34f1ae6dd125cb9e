import { row, type FaultRow } from "./fault-row.ts";

/** Faults of the engines that a benchmark compares; part of fault-table.ts. */
export const ENGINE_FAULTS = {
  ENGINE_MISSING: row("never", 404, {
    exit: 3,
    says: "The engine is not available on this machine.",
    next: "Install it, or leave it out of the comparison.",
  }),
  ENGINE_FAILED: row("never", 502, {
    exit: 1,
    says: "The engine's program ended with an error of its own.",
    next: "The log of the case has its last output.",
  }),
  ENGINE_TIME_LIMIT: row("never", 504, {
    exit: 5,
    says: "The engine took longer than a case may take, and was ended.",
    next: "Allow more time, or move less.",
  }),
  ENGINE_MEMORY_LIMIT: row("never", 507, {
    exit: 5,
    says: "The engine took more memory than a case may take, and was ended.",
    next: "Use smaller parts or fewer connections, or allow more.",
  }),
} as const satisfies Record<string, FaultRow>;
