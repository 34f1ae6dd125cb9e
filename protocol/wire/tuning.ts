import * as z from "zod";
import type { StoreTraits } from "./operations.ts";

/** What people set of how nodes send to a bucket, in place of what Tidemark would choose by itself. */

const MIB = 1024 * 1024;
export const tuning = z.object({
  /** Of every file that is sent in parts; null: by the size of the file. The store's own limits go before it. */
  partBytes: z
    .number()
    .int()
    .min(5 * MIB, "a part has at least 5 MiB")
    .max(1024 * MIB, "a part has at most 1,024 MiB")
    .nullable(),
  /** To begin with; null: as for others of this provider. The engine goes on looking for its own best number. */
  connections: z.number().int().min(1, "at least one connection").max(96, "at most 96 connections").nullable(),
});
export type Tuning = z.infer<typeof tuning>;
export const NO_TUNING: Tuning = { partBytes: null, connections: null };

/** A store as its nodes are told, with what people set. */
export const tuned = (traits: StoreTraits, { partBytes, connections }: Tuning): StoreTraits => ({
  ...traits,
  ...(partBytes !== null && { tunedPartBytes: partBytes }),
  ...(connections !== null && { startConnections: Math.min(connections, traits.mostConnections) }),
});

/**
 * Storj's own table for uploads through its hosted gateway (Hot Rodding Decentralization, parts 2 and 3): 64 MiB is a segment, 96
 * parts at a time are where more does not help. `memoryBytes`: what a tool takes that holds whole parts, as rclone does; here
 * a connection takes a quarter of a MiB whatever the part size.
 */
export const STORJ_PRESETS: readonly (Tuning & { label: string; memoryBytes: number })[] = [
  { label: "Gateway-MT, modest", partBytes: 64 * MIB, connections: 24, memoryBytes: 24 * 64 * MIB },
  { label: "Gateway-MT, good", partBytes: 64 * MIB, connections: 40, memoryBytes: 40 * 64 * MIB },
  { label: "Gateway-MT, better", partBytes: 64 * MIB, connections: 80, memoryBytes: 80 * 64 * MIB },
  { label: "Gateway-MT, best", partBytes: 64 * MIB, connections: 96, memoryBytes: 96 * 64 * MIB },
];
