import { Fault } from "#protocol/faults/fault.ts";

/** It makes room for others, and has to start over when its turn comes again. */
export const SHED = new Fault("CANCELLED", { detail: "the link is too slow for so many parts at a time" });
/** Reason of an attempt that another one replaces. */
export const BEGUN_ANEW = new Fault("CANCELLED", { detail: "it is begun anew on another connection" });

/** A part or a small file to send. */
export interface Flight<T> {
  signal: AbortSignal;
  /** Whether it may be sent twice at the same time. Asked when that would help. */
  mayRepeat(): boolean;
  /** All of a small file, not a part. */
  isSmall: boolean;
  /** To make room for others; otherwise whoever runs it need not know of that. */
  mayShed: boolean;
  /** Only flights of about the same length are compared with each other. */
  lengthBytes: number;
  /** Tells `onMoved` of every byte that went out. */
  attempt(about: { signal: AbortSignal; isHedge: boolean; onMoved(bytes: number): void }): Promise<T>;
}

/** One that is on its way. */
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
