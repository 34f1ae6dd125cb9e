import * as z from "zod";
import { id, nodeName, runName, writerEpoch, type RunName } from "../base/names.ts";
import { OWN_FOLDERS } from "./keys.ts";

/**
 * Lease of a run's writer without a hub: one object for each run, taken and renewed by conditional writes, valid by the
 * store's clock. A hub that takes over a run writes the lease too (`by: "hub"`), so that a node that continues alone loses
 * the right to write.
 */
const writerLease = z.object({
  format: z.literal("tidemark.writer"),
  version: z.literal(1),
  run: runName,
  epoch: writerEpoch,
  node: z.object({ id, name: nodeName }),
  by: z.enum(["node", "hub"]),
  /** Epoch ms by the store's clock. */
  renewedAt: z.number().int(),
  /** Expiry, epoch ms by the store's clock; after it any node may take the run. Equals `renewedAt` when it was released. */
  until: z.number().int(),
  /** New with each write, so that a writer recognizes its own lease. */
  nonce: z.string().max(64),
});
export type WriterLease = z.infer<typeof writerLease>;

/** Parses the text of an object; null when it is no lease. */
export const readLeaseText = (text: string): WriterLease | null => readAs(writerLease, text);

/** How long a silent writer keeps the right to write. */
export const LEASE_MS = 60_000;

export const writerLeaseKey = (prefix: string, run: RunName): string =>
  `${prefix}${OWN_FOLDERS.own}writers/${run}.json`;

/**
 * Mark of a hub that manages the checkpoints under a prefix. A node without a hub does not write under a prefix with this
 * mark.
 */
const hubMark = z.object({
  format: z.literal("tidemark.hub"),
  version: z.literal(1),
  /** Address of the hub's pages; null when the hub was given none. */
  url: z.string().max(2048).nullable(),
  markedAt: z.number().int(),
});
export type HubMark = z.infer<typeof hubMark>;

/** Parses the text of an object; null when it is no mark. */
export const readMarkText = (text: string): HubMark | null => readAs(hubMark, text);

function readAs<T>(schema: z.ZodType<T>, text: string): T | null {
  try {
    return schema.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}

export const hubMarkKey = (prefix: string): string => `${prefix}${OWN_FOLDERS.own}hub.json`;
