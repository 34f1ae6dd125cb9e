import { lookup } from "node:dns/promises";
import { isIP, type LookupFunction } from "node:net";
import { Fault } from "#protocol/faults/fault.ts";

/**
 * Connections go to the very addresses that were checked. A name that is checked first and looked up again by whoever
 * connects may answer differently the second time (DNS rebinding); here the check stands inside the one lookup that the
 * connection itself is made with, so there is no second time.
 */

/** Every address of a name. */
export type Resolve = (host: string) => Promise<readonly string[]>;

export const resolveAll: Resolve = async (host) => (await lookup(host, { all: true })).map(({ address }) => address);

/** Why a connection to an address is refused, or null. */
export type WhyRefused = (address: string) => string | null;

/**
 * For `net.connect`, `tls.connect` and the agents of `node:http`. One refused address refuses the name: with Fault
 * ENDPOINT_REFUSED, whose reason is for the log alone. Not asked for a host that is an address already; see `pinHost`.
 */
export function pinnedLookup(whyRefused: WhyRefused, resolve: Resolve = resolveAll): LookupFunction {
  return (host, options, callback) => {
    const fail = (error: Error): void => process.nextTick(callback, error, "", 0);
    resolve(host).then((addresses) => {
      for (const address of addresses) {
        const why = whyRefused(address);
        if (why !== null) return fail(new Fault("ENDPOINT_REFUSED", { subject: host, cause: new Error(why) }));
      }
      const found = addresses
        .map((address) => ({ address, family: isIP(address) }))
        .filter(({ family }) => (options.family !== 4 && options.family !== 6 ? true : family === options.family));
      const [first] = found;
      if (first === undefined) return fail(new Fault("NAME_NOT_RESOLVED", { subject: host }));
      if (options.all === true) return process.nextTick(callback, null, found);
      return process.nextTick(callback, null, first.address, first.family);
    }, fail);
  };
}

/**
 * What to connect to. An address given as such never meets a lookup, so one that is refused is replaced by a name that
 * only this lookup answers, with that address: it fails as a name would.
 */
export function pinHost(host: string, whyRefused: WhyRefused): { host: string; lookup: LookupFunction } {
  if (isIP(host) === 0 || whyRefused(host) === null) return { host, lookup: pinnedLookup(whyRefused) };
  return { host: "refused.invalid", lookup: pinnedLookup(whyRefused, async () => [host]) };
}
