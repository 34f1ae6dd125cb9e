import { join } from "node:path";
import * as z from "zod";
import { checksumMemory, type ChecksumMemory } from "#protocol/store-checksum.ts";
import { openKeptEntries } from "./kept-entries.ts";

/**
 * What this machine found out about the way to a bucket and about its store, so that the next transfer starts with it.
 * Nothing depends on it: see kept-entries.ts.
 */
export interface StoreKey {
  /** Of the store; only its host and port count. */
  endpoint: string;
  bucket: string;
}
export interface LearnedKey extends StoreKey {
  direction: "up" | "down";
}

const learned = z.object({
  /** Connections that were best. */
  connections: z.number().int().min(1).max(1024),
  /** Payload rate that was measured with them, without a limit of ours. */
  bytesPerSecond: z.number().positive(),
  baseRttMs: z.number().nonnegative().nullable(),
  /** Epoch ms. */
  at: z.number().int(),
});
type Learned = z.infer<typeof learned>;

export interface Memory {
  /** Null when nothing is known, or what is known is too old. */
  recall(key: LearnedKey): Learned | null;
  /** Best effort: resolves when it is on disk, or cannot be. */
  learn(key: LearnedKey, value: Omit<Learned, "at">): Promise<void>;
  /** The checksum this store was seen to take. */
  recallChecksum(key: StoreKey): ChecksumMemory | null;
  learnChecksum(key: StoreKey, value: ChecksumMemory): Promise<void>;
}

const DAY_MS = 24 * 60 * 60 * 1000;
const MOST_ENTRIES = 64;

/** Opens the memory in the state folder: `links.json` and `stores.json`. `wallNow`: epoch ms. No faults. */
export async function openMemory(state: string, wallNow: () => number): Promise<Memory> {
  const rest = { mostEntries: MOST_ENTRIES, wallNow };
  const [links, stores] = await Promise.all([
    openKeptEntries(join(state, "links.json"), { ...rest, schema: learned, atOf: ({ at }) => at, keepMs: 14 * DAY_MS }),
    openKeptEntries(join(state, "stores.json"), {
      ...rest,
      schema: checksumMemory,
      atOf: ({ foundAt }) => foundAt,
      keepMs: 30 * DAY_MS,
    }),
  ]);
  return {
    recall: (key) => links.recall(`${key.direction} ${placeOf(key)}`),
    learn: (key, value) => links.keep(`${key.direction} ${placeOf(key)}`, { ...value, at: wallNow() }),
    recallChecksum: (key) => stores.recall(placeOf(key)),
    learnChecksum: (key, value) => stores.keep(placeOf(key), value),
  };
}

function placeOf({ endpoint, bucket }: StoreKey): string {
  const host = URL.canParse(endpoint) ? new URL(endpoint).host : endpoint;
  return `${host} ${bucket}`;
}
