import { lookup, Resolver } from "node:dns/promises";
import { isIP } from "node:net";

/** What a name is now, and for how long. */
export interface Resolved {
  addresses: readonly string[];
  ttlMs: number;
}

/** Where the time to live is not known: the system's own lookup does not tell it. */
export const UNKNOWN_TTL_MS = 60_000;
/** A shorter time would ask for nearly each connection; stores of many addresses give 4 s and more. */
const LEAST_TTL_MS = 4_000;
const MOST_TTL_MS = 300_000;
/** The time to live is not worth a wait. */
const TTL_WAIT_MS = 2_000;

/**
 * Looks a name up as the system does, with its hosts file and its order of families. The time to live comes from DNS, and so do further
 * addresses, where DNS knows the name as the system does: then an answer of the hosts file was not left aside.
 */
export interface Resolving {
  lookup(host: string): Promise<readonly string[]>;
  /** What DNS adds to what a lookup found. Never rejects. */
  refine(host: string, found: readonly string[]): Promise<Resolved>;
}

export const SYSTEM_RESOLVER: Resolving = {
  lookup: async (host) => (await lookup(host, { all: true })).map(({ address }) => address),
  refine: async (host, found) => withTtl(found, await askDns(host)),
};

interface Answered {
  address: string;
  ttl: number;
}

/** Pure: what is known together. */
export function withTtl(found: readonly string[], answered: readonly Answered[]): Resolved {
  if (!answered.some(({ address }) => found.includes(address))) return { addresses: found, ttlMs: UNKNOWN_TTL_MS };
  const families = new Set(found.map(isIP));
  const more = answered.map(({ address }) => address).filter((address) => families.has(isIP(address)));
  const seconds = Math.min(...answered.map(({ ttl }) => ttl));
  const ttlMs = Math.min(MOST_TTL_MS, Math.max(LEAST_TTL_MS, seconds * 1000));
  return { addresses: [...new Set([...found, ...more])], ttlMs };
}

async function askDns(host: string): Promise<Answered[]> {
  const resolver = new Resolver({ timeout: TTL_WAIT_MS, tries: 1 });
  const none = () => [];
  const answers = await Promise.all([
    resolver.resolve4(host, { ttl: true }).catch(none),
    resolver.resolve6(host, { ttl: true }).catch(none),
  ]);
  return answers.flat();
}
