import { UNKNOWN_TTL_MS, type Resolving } from "./resolve-addresses.ts";

/** The addresses of one name, looked up once for all connections, and again when their TTL is over. */
export interface NameLookup {
  /** Resolves with the addresses, known or looked up now. Faults: those of the resolver. */
  listed(): Promise<readonly string[]>;
  /** Addresses of the last look-up; empty before. */
  readonly lookedUp: readonly string[];
  /** Calls `look` when the name is looked up the next time. */
  onceLookedUp(look: () => void): void;
  forgetLook(look: () => void): void;
  /** Marks the addresses as outdated: the name is looked up again, and they are used until then. */
  expire(): void;
  /** Drops the known addresses, which must not be used any more. */
  discard(): void;
}

/** Creates the look-up of `host`. `remembered`: addresses of an earlier run, used until the name has been looked up. */
export function createNameLookup(
  host: string,
  about: {
    now: () => number;
    resolver: Resolving;
    remembered: readonly string[];
    onLookedUp(addresses: readonly string[]): void;
  },
): NameLookup {
  const { now, resolver, remembered, onLookedUp } = about;
  let current: { addresses: readonly string[]; until: number } | null =
    remembered.length === 0 ? null : { addresses: remembered, until: -Infinity };
  let lookedUp: readonly string[] = [];
  /** Listeners of connections that are being made to addresses of an earlier run. */
  const early = new Set<() => void>();
  let asking: Promise<readonly string[]> | null = null;
  const ask = (): Promise<readonly string[]> => {
    asking ??= resolver
      .lookup(host)
      .then((addresses) => {
        current = { addresses, until: now() + UNKNOWN_TTL_MS };
        lookedUp = addresses;
        for (const look of early) look();
        early.clear();
        // The addresses can be used before their TTL is known.
        void resolver.refine(host, addresses).then(({ addresses, ttlMs }) => {
          current = { addresses, until: now() + ttlMs };
        });
        onLookedUp(addresses);
        return addresses;
      })
      .finally(() => (asking = null));
    return asking;
  };
  return {
    get lookedUp() {
      return lookedUp;
    },
    listed: () => {
      if (current === null) return ask();
      // The old addresses are used until the new ones are known, or if the look-up fails.
      if (current.until <= now()) ask().catch(() => undefined);
      return Promise.resolve(current.addresses);
    },
    onceLookedUp: (look) => {
      early.add(look);
    },
    forgetLook: (look) => {
      early.delete(look);
    },
    expire: () => {
      if (current !== null) current = { ...current, until: Math.min(current.until, now()) };
    },
    discard: () => {
      current = null;
    },
  };
}
