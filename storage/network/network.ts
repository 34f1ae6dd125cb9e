import { readAuthorities, type Authorities } from "./authorities.ts";
import { readProxies, type ProxyFor } from "./proxy.ts";

/**
 * Proxy and certificate settings of this process, set once at start from flags and environment. Every client reads them
 * here when it connects.
 */
export interface Network {
  /** Null: no proxy is configured. */
  proxyFor: ProxyFor | null;
  authorities: Authorities;
}

export interface NetworkSettings {
  env: Readonly<Record<string, string | undefined>>;
  proxy?: { text: string; source: string } | undefined;
  noProxy?: string | undefined;
  authorities?: readonly { file: string; source: string }[];
}

const DIRECT: Network = { proxyFor: null, authorities: readAuthorities({ given: [], env: {} }) };
/** A property of the process, not of this module: the bundled worker contains several copies of the module. */
const PLACE = Symbol.for("tidemark.network");

/** Reads the settings. @throws Fault BAD_INPUT naming the flag or variable that cannot be read */
export const readNetwork = ({ env, proxy, noProxy, authorities = [] }: NetworkSettings): Network => ({
  proxyFor: readProxies({ given: proxy, noProxy, env }),
  authorities: readAuthorities({ given: authorities, env }),
});

/** Replaces the settings for later connections. Left out: no proxy and default authorities. */
export function setNetwork(network: Network = DIRECT): void {
  Reflect.set(globalThis, PLACE, network);
}

export const network = (): Network => (Reflect.get(globalThis, PLACE) as Network | undefined) ?? DIRECT;
