import * as z from "zod";
import type { StoreTraits } from "./operations.ts";

/** Settings for uploads to a bucket that replace Tidemark's own choices. */

const MIB = 1024 * 1024;
export const tuning = z.object({
  /** Part size for every multipart file; null: by file size. The store's limits take precedence. */
  partBytes: z
    .number()
    .int()
    .min(5 * MIB, "a part has at least 5 MiB")
    .max(1024 * MIB, "a part has at most 1,024 MiB")
    .nullable(),
  /** Number of connections at the start; null: the provider's default. The engine continues to search for the best number. */
  connections: z.number().int().min(1, "at least one connection").max(96, "at most 96 connections").nullable(),
});
export type Tuning = z.infer<typeof tuning>;
export const NO_TUNING: Tuning = { partBytes: null, connections: null };

/** Returns a store's traits with these settings applied, as nodes receive them. */
export const tuned = (traits: StoreTraits, { partBytes, connections }: Tuning): StoreTraits => ({
  ...traits,
  ...(partBytes !== null && { tunedPartBytes: partBytes }),
  ...(connections !== null && { startConnections: Math.min(connections, traits.mostConnections) }),
});

/**
 * Storj's own table for uploads through its hosted gateway (Hot Rodding Decentralization, parts 2 and 3). A segment is 64
 * MiB, and more than 96 parts at a time bring no gain. `memoryBytes`: need of a tool that buffers whole parts, as rclone
 * does. Tidemark needs a quarter of a MiB per connection, whatever the part size.
 */
export const STORJ_PRESETS: readonly (Tuning & { label: string; memoryBytes: number })[] = [
  { label: "Gateway-MT, modest", partBytes: 64 * MIB, connections: 24, memoryBytes: 24 * 64 * MIB },
  { label: "Gateway-MT, good", partBytes: 64 * MIB, connections: 40, memoryBytes: 40 * 64 * MIB },
  { label: "Gateway-MT, better", partBytes: 64 * MIB, connections: 80, memoryBytes: 80 * 64 * MIB },
  { label: "Gateway-MT, best", partBytes: 64 * MIB, connections: 96, memoryBytes: 96 * 64 * MIB },
];
