import { isIP } from "node:net";
import { join } from "node:path";
import * as z from "zod";
import { checksumMemory, type ChecksumMemory } from "#protocol/wire/store-checksum.ts";
import { openKeptEntries } from "./kept-entries.ts";

/**
 * Cache of findings about the link to a bucket and about its store, with which the next transfer starts. It is optional: see
 * kept-entries.ts.
 */
export interface StoreKey {
  /** Address of the store; only host and port count. */
  endpoint: string;
  bucket: string;
}
export interface LearnedKey extends StoreKey {
  direction: "up" | "down";
}

const learned = z.object({
  /** Number of connections that was fastest. */
  connections: z.number().int().min(1).max(1024),
  /** Payload rate with these connections, measured without a bandwidth limit. */
  bytesPerSecond: z.number().positive(),
  baseRttMs: z.number().nonnegative().nullable(),
  /** Epoch ms. */
  at: z.number().int(),
});
type Learned = z.infer<typeof learned>;

/** Addresses of a host name. They are dropped after an hour, when a new lookup is more reliable. */
const named = z.object({
  addresses: z.array(z.string().refine((text) => isIP(text) !== 0)).min(1),
  /** Epoch ms. */
  at: z.number().int(),
});

export interface Memory {
  /** Returns what is known of a link; null when nothing is known, or it is too old. */
  recall(key: LearnedKey): Learned | null;
  /** Stores a finding about a link. Resolves when it is in the file, or the write has failed. */
  learn(key: LearnedKey, value: Omit<Learned, "at">): Promise<void>;
  /** Returns the checksum algorithm that this store was seen to accept. */
  recallChecksum(key: StoreKey): ChecksumMemory | null;
  learnChecksum(key: StoreKey, value: ChecksumMemory): Promise<void>;
  /** Returns the last known addresses of a host; empty when they are unknown or too old. */
  recallAddresses(host: string): readonly string[];
  /** Stores the addresses of a host, unless the known ones are recent and overlap with them. */
  learnAddresses(host: string, addresses: readonly string[]): Promise<void>;
}

const HOUR_MS = 60 * 60 * 1000;
/** Addresses younger than this that are still correct are not written again. */
const FRESH_ADDRESSES_MS = 10 * 60 * 1000;
const MOST_ADDRESSES = 8;
const DAY_MS = 24 * 60 * 60 * 1000;
const MOST_ENTRIES = 64;

/** Opens the cache in the state folder: `links.json`, `stores.json` and `names.json`. `wallNow`: epoch ms. Never throws. */
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
