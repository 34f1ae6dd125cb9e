import type { Fault } from "#protocol/faults/fault.ts";
import type { Uploader } from "./uploader-parts.ts";

/** State of one uploader that its queue, its attempts and its recovery share. */
export interface UploadState {
  /** The capture that is being sent. */
  active: Uploader["active"];
  /** Stops the active capture; `ended` resolves when all work on it has ended. */
  stop: { controller: AbortController; ended: Promise<void> } | null;
  waitingFor: Fault | null;
  /** Failures since the last success: the next wait grows with them. */
  tries: number;
  isDraining: boolean;
}

/** Returns the state of an uploader that sends nothing. */
export const newUploadState = (): UploadState => ({
  active: null,
  stop: null,
  waitingFor: null,
  tries: 0,
  isDraining: false,
});
