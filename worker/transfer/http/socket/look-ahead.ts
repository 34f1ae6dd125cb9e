import { isIP } from "node:net";
import { originOf } from "./open-socket.ts";
import { SYSTEM_RESOLVER, type Resolving } from "./resolve-addresses.ts";

/**
 * Begins to look up the name in `url`, which takes as long as it takes to make the engine that will ask for it: the first look-up of that
 * name gets this answer. Where an address or a proxy is in its place, nothing is looked up.
 */
export function lookAhead(url: string, resolver: Resolving = SYSTEM_RESOLVER): Resolving {
  const { host, proxy } = originOf(new URL(url));
  if (proxy !== null || isIP(host) !== 0) return resolver;
  let begun: Promise<readonly string[]> | null = resolver.lookup(host);
  // Whoever asks is told.
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
