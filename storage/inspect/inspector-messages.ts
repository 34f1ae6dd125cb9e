import type { FaultData } from "#protocol/faults/fault.ts";
import type { FileInspection } from "#protocol/checkpoint/inspect.ts";

/** Messages between an inspector and its thread. The thread has no access to files or stores and requests every byte. */

/** `file` 0 is the inspected file; neighboring files are numbered as they are opened. */
export type ToThread =
  | { op: "inspect"; job: number; path: string; sizeBytes: number }
  | { op: "bytes"; ask: number; bytes: Uint8Array }
  | { op: "opened"; ask: number; file: number | null; sizeBytes: number }
  /** The source failed; the inspector keeps the error. */
  | { op: "failed"; ask: number };

/** `job` identifies the inspected file. Parallel reads of a failed job may still send messages after the next job has begun. */
export type FromThread = { job: number } &
  /** Inspection begins now; the thread's start does not count as compute time. */
  (
    | { op: "begun" }
    | { op: "read"; ask: number; file: number; offset: number; length: number }
    | { op: "open"; ask: number; relative: string }
    | { op: "found"; found: FileInspection }
    | { op: "fault"; fault: FaultData }
    | { op: "sourceFailed" }
  );
