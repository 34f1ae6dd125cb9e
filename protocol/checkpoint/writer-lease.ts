import * as z from "zod";
import { id, nodeName, runName, writerEpoch, type RunName } from "../base/names.ts";
import { OWN_FOLDERS } from "./keys.ts";

/**
 * Says who may write a run without a hub: one object for each run, taken and renewed by conditional writes, valid by the store's clock.
 * A hub that takes a run over writes it too (`by: "hub"`), so that a node which goes on alone is shut out.
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
  /** Epoch ms by the store's clock; after it anybody may take the run. `renewedAt` when it was given back. */
  until: z.number().int(),
  /** New with each write, so that a writer knows its own. */
  nonce: z.string().max(64),
});
export type WriterLease = z.infer<typeof writerLease>;

/** Reads the text of an object; null where it is no lease. */
export const readLeaseText = (text: string): WriterLease | null => readAs(writerLease, text);

/** How long a writer that was not heard may still write. */
export const LEASE_MS = 60_000;

export const writerLeaseKey = (prefix: string, run: RunName): string =>
  `${prefix}${OWN_FOLDERS.own}writers/${run}.json`;

/**
 * The mark of a hub that keeps checkpoints under a prefix. No node writes there without it.
 */
const hubMark = z.object({
  format: z.literal("tidemark.hub"),
  version: z.literal(1),
  /** Where people find it; null where the hub was told none. */
  url: z.string().max(2048).nullable(),
  markedAt: z.number().int(),
});
export type HubMark = z.infer<typeof hubMark>;

/** Reads the text of an object; null where it is no mark. */
export const readMarkText = (text: string): HubMark | null => readAs(hubMark, text);

function readAs<T>(schema: z.ZodType<T>, text: string): T | null {
  try {
    return schema.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}

export const hubMarkKey = (prefix: string): string => `${prefix}${OWN_FOLDERS.own}hub.json`;
