import { z } from "zod";
import { keepResult } from "../report/keep-result.ts";
import { machineFacts } from "../report/results.ts";

/** Stored results of `first-byte`; its page is made from them. */

const firstByteRun = z.object({
  tool: z.string(),
  direction: z.enum(["up", "down"]),
  /** Size of the file. */
  bytes: z.number(),
  round: z.number(),
  /** Null: the transfer succeeded, and its first byte was seen. */
  failure: z.string().nullable(),
  firstPacketMs: z.number().nullable(),
  firstByteMs: z.number().nullable(),
  before: z.array(z.string()),
});
export type FirstByteRun = z.infer<typeof firstByteRun>;

const firstByteResult = machineFacts.extend({
  link: z.object({ rttMs: z.number(), upMbit: z.number(), downMbit: z.number() }),
  /** Whether link, far end and tools ran with real-time priority. */
  isRealTime: z.boolean(),
  tools: z.array(
    z.object({ name: z.string(), title: z.string(), role: z.enum(["own", "peer", "ceiling"]), version: z.string() }),
  ),
  missing: z.record(z.string(), z.string()),
  runs: z.array(firstByteRun),
});
export type FirstByteResult = z.infer<typeof firstByteResult>;

export const keptFirstBytes = keepResult("first-byte", firstByteResult);
