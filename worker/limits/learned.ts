import { isIP } from "node:net";
import { join } from "node:path";
import * as z from "zod";
import { checksumMemory, type ChecksumMemory } from "#protocol/wire/store-checksum.ts";
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

/** Where a name led. Past an hour a lookup is more likely right than they are. */
const named = z.object({
  addresses: z.array(z.string().refine((text) => isIP(text) !== 0)).min(1),
  /** Epoch ms. */
  at: z.number().int(),
});

export interface Memory {
  /** Null when nothing is known, or what is known is too old. */
  recall(key: LearnedKey): Learned | null;
  /** Best effort: resolves when it is on disk, or cannot be. */
  learn(key: LearnedKey, value: Omit<Learned, "at">): Promise<void>;
  /** The checksum this store was seen to take. */
  recallChecksum(key: StoreKey): ChecksumMemory | null;
  learnChecksum(key: StoreKey, value: ChecksumMemory): Promise<void>;
  /** Where this name led the last time; none when that is not known, or was long ago. */
  recallAddresses(host: string): readonly string[];
  /** Kept unless what is known is good enough. */
  learnAddresses(host: string, addresses: readonly string[]): Promise<void>;
}

const HOUR_MS = 60 * 60 * 1000;
/** Addresses that are younger, and still right, are not written again. */
const FRESH_ADDRESSES_MS = 10 * 60 * 1000;
const MOST_ADDRESSES = 8;
const DAY_MS = 24 * 60 * 60 * 1000;
const MOST_ENTRIES = 64;

/** Opens the memory in the state folder: `links.json`, `stores.json` and `names.json`. `wallNow`: epoch ms. No faults. */
export async function openMemory(state: string, wallNow: () => number): Promise<Memory> {
  const rest = { mostEntries: MOST_ENTRIES, wallNow };
  const [links, stores, names] = await Promise.all([
    openKeptEntries(join(state, "links.json"), { ...rest, schema: learned, atOf: ({ at }) => at, keepMs: 14 * DAY_MS }),
    openKeptEntries(join(state, "stores.json"), {
      ...rest,
      schema: checksumMemory,
      atOf: ({ foundAt }) => foundAt,
      keepMs: 30 * DAY_MS,
    }),
    openKeptEntries(join(state, "names.json"), { ...rest, schema: named, atOf: ({ at }) => at, keepMs: HOUR_MS }),
  ]);
  return {
    recall: (key) => links.recall(`${key.direction} ${placeOf(key)}`),
    learn: (key, value) => links.keep(`${key.direction} ${placeOf(key)}`, { ...value, at: wallNow() }),
    recallChecksum: (key) => stores.recall(placeOf(key)),
    learnChecksum: (key, value) => stores.keep(placeOf(key), value),
    recallAddresses: (host) => names.recall(host)?.addresses ?? [],
    learnAddresses: async (host, addresses) => {
      if (addresses.length === 0) return;
      const known = names.recall(host);
      const isRight = known?.addresses.some((address) => addresses.includes(address)) === true;
      if (isRight && wallNow() - known.at < FRESH_ADDRESSES_MS) return;
      await names.keep(host, { addresses: addresses.slice(0, MOST_ADDRESSES), at: wallNow() });
    },
  };
}

function placeOf({ endpoint, bucket }: StoreKey): string {
  const host = URL.canParse(endpoint) ? new URL(endpoint).host : endpoint;
  return `${host} ${bucket}`;
}
