import * as z from "zod";
import { byteCount, rate, roundTrip } from "../base/bounded.ts";

/** What a transfer or a probe found out about the link on its way. Sent along where it is known; older workers do not. */

const duration = z.number().min(0).max(1e12);

/** What moved the bytes: Tidemark's own engine, or another program that was driven. */
export const engineName = z.string().regex(/^[a-z0-9][a-z0-9.-]{0,31}$/);
export const OWN_ENGINE = "tidemark";

export const measured = z.object({
  engine: engineName,
  /** Of the last try, from its first byte to when the last of it was acknowledged. */
  tookMs: duration,
  sentBytes: byteCount,
  /** The ramp-up left out; null when it was too short to tell. */
  steadyBytesPerSecond: rate.nullable(),
  rampMs: duration.nullable(),
  isSteady: z.boolean(),
  parts: z.number().int().min(0).max(1_000_000_000),
  /** Of the largest part; null when there is none. */
  partBytes: byteCount.nullable(),
  rttMs: roundTrip.nullable(),
  /** Bytes per second of its first seconds and of its last quarter; null when it was too short. Absent from older workers. */
  burst: z.object({ firstBytesPerSecond: rate, lateBytesPerSecond: rate }).nullable().optional(),
});
export type Measured = z.infer<typeof measured>;

const way = z.object({
  rampMs: duration,
  isSteady: z.boolean(),
  movedBytes: byteCount,
  connections: z.number().int().min(0).max(100_000),
});

/** How a probe measured: both ways may be null on their own. */
export const probeManner = z.object({
  engine: engineName,
  up: way.nullable(),
  down: way.nullable(),
});
