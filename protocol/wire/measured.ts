import * as z from "zod";
import { byteCount, rate, roundTrip } from "../base/bounded.ts";

/** Measurements of the link that a transfer or a probe made. Absent from older workers and when nothing was measured. */

const duration = z.number().min(0).max(1e12);

/** The engine that moved the bytes: Tidemark's own, or a third-party program. */
export const engineName = z.string().regex(/^[a-z0-9][a-z0-9.-]{0,31}$/);
export const OWN_ENGINE = "tidemark";

export const measured = z.object({
  engine: engineName,
  /** Duration of the last attempt, from its first byte to the last acknowledgment. */
  tookMs: duration,
  sentBytes: byteCount,
  /** Rate without the ramp-up; null when the transfer was too short to tell. */
  steadyBytesPerSecond: rate.nullable(),
  rampMs: duration.nullable(),
  isSteady: z.boolean(),
  parts: z.number().int().min(0).max(1_000_000_000),
  /** Size of the largest part; null without parts. */
  partBytes: byteCount.nullable(),
  rttMs: roundTrip.nullable(),
  /** Rates of the first seconds and of the last quarter; null when the transfer was too short. Absent from older workers. */
  burst: z.object({ firstBytesPerSecond: rate, lateBytesPerSecond: rate }).nullable().optional(),
});
export type Measured = z.infer<typeof measured>;

const way = z.object({
  rampMs: duration,
  isSteady: z.boolean(),
  movedBytes: byteCount,
  connections: z.number().int().min(0).max(100_000),
});

/** How a probe measured; each direction may be null. */
export const probeManner = z.object({
  engine: engineName,
  up: way.nullable(),
  down: way.nullable(),
});
