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
import type { Trips } from "./socket/rtt-estimator.ts";

/** One request on one connection, written out; ends in exactly one of `done` and `fail`, unless the connection is dropped. */
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
  /** Bytes of the body that were told to be sent. */
  sentBytes: number;
  /** Settles when the body is not being read any more; null when it is not. */
  reading: Promise<void> | null;
}

/** What all connections of a wire share. */
export interface Shared {
  buffers: Buffers;
  /** For heads, small answers and idle connections; whatever is in it is used up before the next read. */
  scratch: Buffer;
  pacer: Pacer;
  /** Null where bytes cannot go straight from files to sockets. */
  straight: () => Straight | null;
  disk: DiskSense;
  pace: Pace;
  trips: Trips;
  tls: TlsMemory;
  encryption: Encryption;
  /** The addresses of an origin; null where there is nothing to choose: an address, or a proxy that chooses. */
  addressesOf: (origin: Origin) => Addresses | null;
  now: () => number;
  idleMs: number;
  connectMs: number;
  /** Reuse of an idle connection where the store does not say how long it waits, ms. */
  restMs: number;
}
