import { UNKNOWN_TTL_MS, type Resolving } from "./resolve-addresses.ts";

/** The addresses of one name. They are looked up once for all connections, and again when their time to live is over. */
export interface NameLookup {
  /** Resolves with the addresses, known or looked up now. Faults: those of the resolver. */
  listed(): Promise<readonly string[]>;
  /** As the name was looked up last; empty before that. */
  readonly lookedUp: readonly string[];
  /** Calls `look` when the name is looked up the next time. */
  onceLookedUp(look: () => void): void;
  forgetLook(look: () => void): void;
  /** The name may lead somewhere else by now: it is looked up again, and the known addresses serve until then. */
  expire(): void;
  /** The known addresses must not be used any more. */
  discard(): void;
}

/** `remembered`: the addresses of an earlier run, which serve until the name has been looked up. */
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
  /** Connections that are being made to addresses of an earlier run. */
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
        // Nobody waits for the time to live.
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
      // The old ones serve until the answer is there, and when there is none.
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
