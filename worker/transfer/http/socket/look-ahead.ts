import { isIP } from "node:net";
import { originOf } from "./open-socket.ts";
import { SYSTEM_RESOLVER, type Resolving } from "./resolve-addresses.ts";

/**
 * Begins to look up the host name of `url` while the engine that needs it is still being made. Returns a resolver whose first
 * look-up of that name gets this answer. Looks up nothing for an IP address or behind a proxy.
 */
export function lookAhead(url: string, resolver: Resolving = SYSTEM_RESOLVER): Resolving {
  const { host, proxy } = originOf(new URL(url));
  if (proxy !== null || isIP(host) !== 0) return resolver;
  let begun: Promise<readonly string[]> | null = resolver.lookup(host);
  // Prevents an unhandled rejection; the caller of `lookup` gets the error.
  begun.catch(() => undefined);
  return {
    ...resolver,
    lookup: (wanted) => {
      const answer = wanted === host ? begun : null;
      if (answer !== null) begun = null;
      return answer ?? resolver.lookup(wanted);
    },
  };
}
