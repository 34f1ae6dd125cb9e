import { lookup, Resolver } from "node:dns/promises";
import { isIP } from "node:net";

/** Addresses of a name, and how long they hold. */
export interface Resolved {
  addresses: readonly string[];
  ttlMs: number;
}

/** TTL where none is known: the system's own look-up does not tell it. */
export const UNKNOWN_TTL_MS = 60_000;
/** A shorter TTL would mean a look-up for nearly each connection; stores of many addresses give 4 s and more. */
const LEAST_TTL_MS = 4_000;
const MOST_TTL_MS = 300_000;
/** Longest wait for DNS: the TTL is not worth more. */
const TTL_WAIT_MS = 2_000;

/**
 * Looks a name up as the system does, with its hosts file and its order of families. The TTL and further addresses come from
 * DNS, but only where DNS and the system share an address: otherwise the hosts file may have decided.
 */
export interface Resolving {
  lookup(host: string): Promise<readonly string[]>;
  /** Adds what DNS knows to the addresses of a look-up. Never rejects. */
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

/** Joins the addresses of the system with the answers of DNS. Pure. */
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
