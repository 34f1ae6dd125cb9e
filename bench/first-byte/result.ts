import { z } from "zod";
import { keepResult } from "../report/keep-result.ts";
import { machineFacts } from "../report/results.ts";

/** What `first-byte` measured, as it is kept: its page is made from it. */

const firstByteRun = z.object({
  tool: z.string(),
  direction: z.enum(["up", "down"]),
  /** Of the file. */
  bytes: z.number(),
  round: z.number(),
  /** Null: the transfer ended well, and its first byte was seen. */
  failure: z.string().nullable(),
  firstPacketMs: z.number().nullable(),
  firstByteMs: z.number().nullable(),
  before: z.array(z.string()),
});
export type FirstByteRun = z.infer<typeof firstByteRun>;

const firstByteResult = machineFacts.extend({
  link: z.object({ rttMs: z.number(), upMbit: z.number(), downMbit: z.number() }),
  /** Link, far end and tools went before all else that the machine did. */
  isRealTime: z.boolean(),
  tools: z.array(
    z.object({ name: z.string(), title: z.string(), role: z.enum(["own", "peer", "ceiling"]), version: z.string() }),
  ),
  missing: z.record(z.string(), z.string()),
  runs: z.array(firstByteRun),
});
export type FirstByteResult = z.infer<typeof firstByteResult>;

export const keptFirstBytes = keepResult("first-byte", firstByteResult);
