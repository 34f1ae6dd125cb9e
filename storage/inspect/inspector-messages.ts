import type { FaultData } from "#protocol/faults/fault.ts";
import type { FileInspection } from "#protocol/checkpoint/inspect.ts";

/** What an inspector and its thread say to each other. The thread sees no store: it asks for every byte. */

/** `file` 0 is the one that is looked at; those beside it are counted as they are opened. */
export type ToThread =
  | { op: "inspect"; job: number; path: string; sizeBytes: number }
  | { op: "bytes"; ask: number; bytes: Uint8Array }
  | { op: "opened"; ask: number; file: number | null; sizeBytes: number }
  /** The source could not deliver; the inspector keeps the reason. */
  | { op: "failed"; ask: number };

/** `job`: which file it is about. A reader that failed may still ask on behalf of the one before. */
export type FromThread = { job: number } &
  /** It computes from now on: starting a thread is not the file's fault. */
  (
    | { op: "begun" }
    | { op: "read"; ask: number; file: number; offset: number; length: number }
    | { op: "open"; ask: number; relative: string }
    | { op: "found"; found: FileInspection }
    | { op: "fault"; fault: FaultData }
    | { op: "sourceFailed" }
  );
