import { Fault } from "#protocol/faults/fault.ts";

/** Abort reason of an attempt that makes room for others; it starts over when the semaphore admits it again. */
export const SHED = new Fault("CANCELLED", { detail: "the link is too slow for so many parts at a time" });
/** Abort reason of an attempt that is restarted on another connection. */
export const BEGUN_ANEW = new Fault("CANCELLED", { detail: "it is begun anew on another connection" });

/** A part or a small file to send. */
export interface Flight<T> {
  signal: AbortSignal;
  /** Returns whether two attempts may run at the same time. Asked only when a second one would help. */
  mayRepeat(): boolean;
  /** True for a whole small file, false for a part. */
  isSmall: boolean;
  /** Whether the flight may be ended to make room for others; the caller must then handle `SHED`. */
  mayShed: boolean;
  /** Only flights of equal length are compared with each other. */
  lengthBytes: number;
  /** Runs one attempt and reports all bytes it sends to `onMoved`. */
  attempt(about: { signal: AbortSignal; isHedge: boolean; onMoved(bytes: number): void }): Promise<T>;
}

/** A flight in progress. */
export interface Flying {
  lengthBytes: number;
  startedAt: number;
  movedBytes: number;
  isHedged: boolean;
  isSmall: boolean;
  mayShed: boolean;
  mayRepeat(): boolean;
  wasBegunAnew: boolean;
  hedge(): void;
  beginAnew(): void;
  shed(): void;
}
