import type { Fault } from "#protocol/faults/fault.ts";
import type { HttpAnswer } from "#storage/s3/answers.ts";
import type { DiskSense } from "#worker/base/adaptive-sync-io.ts";
import type { Buffers } from "./socket/buffers.ts";
import type { Encryption } from "./tls/encrypt-directly.ts";
import type { About, HeldBody, Sink, UploadBody } from "./exchange.ts";
import type { Straight } from "./socket/move-directly.ts";
import type { Addresses } from "./socket/addresses.ts";
import type { Origin, TlsMemory } from "./socket/open-socket.ts";
import type { Pace, Pacer } from "./socket/pace.ts";
import type { RttEstimator } from "./socket/rtt-estimator.ts";

/**
 * One request, ready to be sent on a connection. Ends in exactly one of `done` and `fail`, unless the connection is dropped.
 */
export interface Task {
  about: About;
  method: string;
  head: string;
  body: Buffer | HeldBody | UploadBody | null;
  sink: Sink | null;
  done(answer: HttpAnswer): void;
  fail(fault: Fault, how: Failing): void;
}

export interface Failing {
  /** No byte of an answer came. */
  isUnanswered: boolean;
  /** Bytes of the body that `sent` was told of. */
  sentBytes: number;
  /** Settles when the pending read of the body has ended; null without one. */
  reading: Promise<void> | null;
}

/** State that all connections of a client share. */
export interface Shared {
  buffers: Buffers;
  /** Buffer for heads, small answers and idle connections; its content is used up before the next read. */
  scratch: Buffer;
  pacer: Pacer;
  /** Returns the native calls for direct transfers between files and sockets; null where there are none. */
  straight: () => Straight | null;
  disk: DiskSense;
  pace: Pace;
  rttEstimator: RttEstimator;
  tls: TlsMemory;
  encryption: Encryption;
  /** Returns the addresses of an origin; null where there is no choice: an IP address, or a proxy that resolves the name. */
  addressesOf: (origin: Origin) => Addresses | null;
  now: () => number;
  idleMs: number;
  connectMs: number;
  /** Longest time after which an idle connection is reused, ms, where the store does not say. */
  restMs: number;
}
