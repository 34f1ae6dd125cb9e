import { readAuthorities, type Authorities } from "./authorities.ts";
import { readProxies, type ProxyFor } from "./proxy.ts";

/**
 * How this process reaches others: the one place that says which proxy leads to a destination and which authorities are trusted.
 * Set once at the start of a process, from its flags and environment. Every client asks here when it connects, so that none of them
 * can forget to.
 */
export interface Network {
  /** Null: no proxy was named at all. */
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
/** Of the process and not of this module: the worker's one file carries parts that have a copy of it. */
const PLACE = Symbol.for("tidemark.network");

/** @throws Fault BAD_INPUT naming the flag or variable that cannot be read */
export const readNetwork = ({ env, proxy, noProxy, authorities = [] }: NetworkSettings): Network => ({
  proxyFor: readProxies({ given: proxy, noProxy, env }),
  authorities: readAuthorities({ given: authorities, env }),
});

/** From now on. Left out: as a process that was told nothing. */
export function setNetwork(network: Network = DIRECT): void {
  Reflect.set(globalThis, PLACE, network);
}

export const network = (): Network => (Reflect.get(globalThis, PLACE) as Network | undefined) ?? DIRECT;
