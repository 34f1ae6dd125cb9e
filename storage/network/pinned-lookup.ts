import { lookup } from "node:dns/promises";
import { isIP, type LookupFunction } from "node:net";
import { Fault } from "#protocol/faults/fault.ts";

/**
 * Checks addresses inside the lookup of the connection itself. A name that is checked first and resolved again for the
 * connection may resolve differently the second time (DNS rebinding). Here no second lookup happens.
 */

/** Returns every address of a name. */
export type Resolve = (host: string) => Promise<readonly string[]>;

export const resolveAll: Resolve = async (host) => (await lookup(host, { all: true })).map(({ address }) => address);

/** Returns why a connection to an address is refused, or null. */
export type WhyRefused = (address: string) => string | null;

/**
 * Returns a lookup for `net.connect`, `tls.connect` and agents of `node:http`. One refused address refuses the name, with
 * Fault ENDPOINT_REFUSED, whose cause is for the log only. Node skips the lookup for IP addresses; see `pinHost`.
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
 * Returns the host to connect to and its lookup. Node skips the lookup for an IP address. A refused one is therefore
 * replaced by a placeholder name whose lookup returns that address and fails, as a refused name would.
 */
export function pinHost(host: string, whyRefused: WhyRefused): { host: string; lookup: LookupFunction } {
  if (isIP(host) === 0 || whyRefused(host) === null) return { host, lookup: pinnedLookup(whyRefused) };
  return { host: "refused.invalid", lookup: pinnedLookup(whyRefused, async () => [host]) };
}
