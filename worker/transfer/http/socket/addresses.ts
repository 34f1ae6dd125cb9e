import { isIP, type LookupFunction } from "node:net";
import { Fault } from "#protocol/faults/fault.ts";
import { whyRefused } from "./why-refused.ts";
import { createNameLookup } from "./look-up-name.ts";
import { SYSTEM_RESOLVER, type Resolving } from "./resolve-addresses.ts";

/**
 * The addresses of one origin, and how connections are spread over them. A name is looked up once for all connections, and
 * again when its TTL is over. A new connection goes to the address with the fewest connections for its speed; others follow
 * in case it is dead. An address that did not answer is avoided for a while. See decision 65.
 */
export interface Addresses {
  /**
   * Starts the attempt of one new connection. `onOther`: called a while after `Attempt.isOther` became true; the connection
   * may still not be established.
   */
  attempt(onOther?: () => void): Attempt;
  /** Addresses of the last look-up; none before. */
  readonly lookedUp: readonly string[];
  /** Records that a connection moved this many bytes in this many milliseconds. `address`: null before it is established. */
  moved(address: string | null, took: { bytes: number; ms: number }): void;
  /**
   * Returns whether an idle connection to this address is surplus: other addresses are so much faster that its place is worth
   * more there.
   */
  isSurplus(address: string | null): boolean;
  /** Established connections, by address. */
  readonly open: ReadonlyMap<string, number>;
}

/** One connection, from the choice of its address to its end. */
export interface Attempt {
  /** Lookup for `net.connect`: the addresses that may be tried, in the order in which to try. */
  readonly lookup: LookupFunction;
  /** Records that the connection is established. */
  opened(address: string): void;
  /** Records that an address did not answer or refused: others are tried first for a while. */
  failed(address: string): void;
  /**
   * Returns whether the connection went to an address of an earlier run that the name no longer leads to, as far as is known.
   * The next attempt then waits for the look-up: an error of the old address says nothing about the store.
   */
  isOther(): boolean;
  /** Records that the connection is gone, or was never established. */
  ended(): void;
}

interface Known {
  /** Connections that are established or being made. */
  open: number;
  /** Bytes a millisecond of one connection, smoothed; null until enough was seen. */
  rate: number | null;
  seen: number;
  failures: number;
  leftUntil: number;
}

/** Most addresses tried for one connection; a name may have many more. */
const MOST_TRIED = 4;
/**
 * Many names lead to other addresses each time, while the earlier ones still work: one that answers within this time is used.
 */
const EARLY_MS = 250;
const LEFT_MS = 30_000;
const MOST_LEFT_MS = 300_000;
/** A shorter transfer says more about round trips than about the address. */
const LEAST_BYTES = 256 * 1024;
const LEAST_SEEN = 3;
const SMOOTHING = 0.25;
/** A slow address keeps this share of connections, so that it is noticed when it becomes fast again. */
const LEAST_WEIGHT = 0.125;
/** Rates above this share of the fastest one count as equal: such differences are noise. */
const CLEARLY_SLOWER = 0.6;

/** Returns the share of connections of one address, by its rate beside that of the fastest: 1 unless it is clearly slower. */
function weightOf({ rate, seen }: Known, known: ReadonlyMap<string, Known>): number {
  const fastest = Math.max(0, ...[...known.values()].map((one) => (one.open > 0 ? (one.rate ?? 0) : 0)));
  if (rate === null || seen < LEAST_SEEN || fastest === 0 || rate / fastest > CLEARLY_SLOWER) return 1;
  return Math.max(LEAST_WEIGHT, rate / fastest);
}

/**
 * Returns the first of `sorted`, at least one of them of the other family (IPv4 or IPv6): a whole family may be unreachable.
 */
function chooseTried(sorted: readonly string[]): string[] {
  const tried = sorted.slice(0, MOST_TRIED);
  const family = isIP(tried[0] ?? "");
  const other = sorted.find((address) => isIP(address) !== family);
  if (other !== undefined && !tried.includes(other)) tried[tried.length - 1] = other;
  return tried;
}

/**
 * Creates the addresses of `host`. `remembered`: addresses of an earlier run, used until the name has been looked up. Only
 * for origins that prove their identity: another host may have such an address by now.
 */
export function createAddresses(
  host: string,
  about: { now: () => number; resolver?: Resolving; remembered?: readonly string[] },
): Addresses {
  const { now, resolver = SYSTEM_RESOLVER, remembered = [] } = about;
  const known = new Map<string, Known>();
  const open = new Map<string, number>();
  const of = (address: string): Known => {
    const found = known.get(address) ?? { open: 0, rate: null, seen: 0, failures: 0, leftUntil: -Infinity };
    known.set(address, found);
    return found;
  };
  const name = createNameLookup(host, {
    now,
    resolver,
    remembered,
    onLookedUp: (addresses) => {
      for (const [address, { open: count }] of known)
        if (count === 0 && !addresses.includes(address)) known.delete(address);
    },
  });
  const isLeft = (address: string): boolean => of(address).leftUntil > now();
  const order = (addresses: readonly string[]): string[] => {
    const load = (address: string) => {
      const one = of(address);
      return (one.open + 1) / weightOf(one, known);
    };
    return chooseTried(addresses.toSorted((a, b) => Number(isLeft(a)) - Number(isLeft(b)) || load(a) - load(b)));
  };
  const failed = (address: string): void => {
    const one = of(address);
    one.failures++;
    one.leftUntil = now() + Math.min(MOST_LEFT_MS, LEFT_MS * 2 ** (one.failures - 1));
    name.expire();
  };
  const attempt = (onOther?: () => void): Attempt => {
    /** Addresses of an earlier run that the connection may have gone to. */
    let byMemory: readonly string[] = [];
    const isElsewhere = () => byMemory.length > 0 && !byMemory.some((address) => name.lookedUp.includes(address));
    let timer: NodeJS.Timeout | null = null;
    const look = () => {
      if (isElsewhere() && onOther !== undefined) timer = setTimeout(onOther, EARLY_MS).unref();
    };
    /** Counts the connection while it is made: simultaneous ones must not all go to the same address. */
    let counted: Known | null = null;
    let standsAt: string | null = null;
    const countAt = (address: string | null) => {
      if (counted !== null) counted.open--;
      counted = address === null ? null : of(address);
      if (counted !== null) counted.open++;
    };
    const stand = (address: string | null) => {
      if (standsAt !== null) open.set(standsAt, (open.get(standsAt) ?? 1) - 1);
      standsAt = address;
      if (address !== null) open.set(address, (open.get(address) ?? 0) + 1);
      countAt(address);
    };
    return {
      failed,
      lookup: (_host, options, callback) => {
        const fail = (error: Error): void => process.nextTick(callback, error, "", 0);
        name.listed().then((addresses) => {
          const refused = addresses.map(whyRefused).find((why) => why !== null) ?? null;
          if (refused !== null)
            return fail(new Fault("ENDPOINT_REFUSED", { subject: host, cause: new Error(refused) }));
          const wanted = options.family === 4 || options.family === 6 ? options.family : null;
          const fitting = addresses.filter((address) => wanted === null || isIP(address) === wanted);
          const found = order(fitting).map((address) => ({ address, family: isIP(address) }));
          if (addresses === remembered) {
            byMemory = addresses;
            if (name.lookedUp.length === 0) name.onceLookedUp(look);
            else look();
          }
          const [first] = found;
          if (first === undefined) return fail(new Fault("NAME_NOT_RESOLVED", { subject: host }));
          countAt(first.address);
          if (options.all === true) return process.nextTick(callback, null, found);
          return process.nextTick(callback, null, first.address, first.family);
        }, fail);
      },
      isOther: () => {
        if (!isElsewhere()) return false;
        // The next attempt must not try the remembered addresses again.
        if (name.lookedUp.length === 0) name.discard();
        return true;
      },
      opened: (address) => {
        stand(address);
        Object.assign(of(address), { failures: 0, leftUntil: -Infinity });
      },
      ended: () => {
        name.forgetLook(look);
        if (timer !== null) clearTimeout(timer);
        stand(null);
      },
    };
  };
  return {
    open,
    attempt,
    get lookedUp() {
      return name.lookedUp;
    },
    moved: (address, { bytes, ms }) => {
      if (address === null || bytes < LEAST_BYTES || ms <= 0) return;
      const one = of(address);
      const rate = bytes / ms;
      one.rate = one.rate === null ? rate : one.rate + (rate - one.rate) * SMOOTHING;
      one.seen++;
    },
    isSurplus: (address) => {
      const one = address === null ? undefined : known.get(address);
      if (one === undefined || one.open < 2 || weightOf(one, known) === 1) return false;
      const all = [...known.values()].filter((other) => other.open > 0);
      const total = all.reduce((sum, other) => sum + other.open, 0);
      const weights = all.reduce((sum, other) => sum + weightOf(other, known), 0);
      return one.open > Math.max(1, Math.ceil((total * weightOf(one, known)) / weights));
    },
  };
}
