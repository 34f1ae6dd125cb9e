import { BlockList, isIP } from "node:net";
import { classOf } from "./address-rules.ts";

/** Destination of a request, as `NO_PROXY` rules match it. */
export interface Destination {
  /** A name or an address, without the brackets of an IPv6 address. */
  host: string;
  port: number;
}

/** Returns whether a request goes to its destination without a proxy. */
export type IsDirect = (destination: Destination) => boolean;

/**
 * `NO_PROXY` entry, known from Chromium's bypass rules, that sends loopback through the proxy too. Loopback is direct by
 * default, because it would mean the proxy's own machine.
 */
const NOT_LOOPBACK = "<-loopback>";
const ENTRY = /^(?:\[(?<bracketed>[^\]]+)\]|(?<plain>[^:]+|[^:]*(?::[^:]*){2,}))(?::(?<port>\d{1,5}))?$/;

interface Rule {
  matches(host: string): boolean;
  /** Null: any port. */
  port: number | null;
}

/** Returns the name in lower case, without the final dot of an absolute name. */
const plainName = (name: string): string => name.toLowerCase().replace(/\.$/, "");

/** Returns the IPv4 address (127.0.0.1) of an IPv4-mapped one (::ffff:127.0.0.1); other hosts unchanged. */
const withoutMapping = (host: string): string => {
  const inside = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(host)?.[1];
  return inside !== undefined && isIP(inside) === 4 ? inside : host;
};

const typeOf = (address: string): "ipv4" | "ipv6" => (isIP(address) === 4 ? "ipv4" : "ipv6");

function subnet(address: string, bits: string): Rule["matches"] | null {
  const most = isIP(address) === 4 ? 32 : 128;
  const length = Number(bits);
  if (isIP(address) === 0 || !/^\d{1,3}$/.test(bits) || length > most) return null;
  const list = new BlockList();
  list.addSubnet(address, length, typeOf(address));
  return (host) => isIP(host) !== 0 && list.check(host, typeOf(host));
}

/** Returns a rule for a name and everything below it, with or without a leading dot or `*.`. */
function nameRule(entry: string): Rule["matches"] {
  const name = plainName(entry.replace(/^\*?\./, ""));
  return (host) => host === name || (isIP(host) === 0 && host.endsWith(`.${name}`));
}

function addressRule(address: string): Rule["matches"] {
  const list = new BlockList();
  list.addAddress(address, typeOf(address));
  return (host) => isIP(host) !== 0 && list.check(host, typeOf(host));
}

/** Returns the rule of an entry. Null for an unreadable entry, which matches nothing, as in curl and Go. */
function ruleOf(entry: string): Rule | null {
  const [network = "", bits] = entry.split("/");
  if (bits !== undefined) {
    const matches = subnet(network.replace(/^\[(.*)\]$/, "$1"), bits);
    return matches === null ? null : { matches, port: null };
  }
  const found = ENTRY.exec(entry)?.groups;
  const host = withoutMapping(found?.["bracketed"] ?? found?.["plain"] ?? "");
  if (host === "") return null;
  const port = found?.["port"] === undefined ? null : Number(found["port"]);
  return { matches: isIP(host) === 0 ? nameRule(host) : addressRule(host), port };
}

const METADATA_NAMES: ReadonlySet<string> = new Set(["metadata.google.internal", "metadata"]);

const isLoopback = (host: string): boolean =>
  host === "localhost" ||
  host.endsWith(".localhost") ||
  (isIP(host) === 4 && host.startsWith("127.")) ||
  host === "::1";
/** Returns whether a host must never use a proxy: link-local addresses differ per machine, metadata services issue secrets. */
const isLinkLocal = (host: string): boolean =>
  isIP(host) === 0 ? METADATA_NAMES.has(host) : classOf(host) === "never";

/**
 * Reads `NO_PROXY`: hosts, domains, addresses, CIDR ranges and `*`, each with a port where only that is meant, separated by commas or
 * spaces. An entry that cannot be read matches nothing.
 */
export function readNoProxy(text: string): IsDirect {
  const entries = text.split(/[\s,]+/).filter((entry) => entry !== "");
  const isAll = entries.includes("*");
  const asksLoopback = entries.includes(NOT_LOOPBACK);
  const rules = entries.map(ruleOf).filter((rule) => rule !== null);
  return ({ host: given, port }) => {
    const host = withoutMapping(plainName(given));
    if (isAll || isLinkLocal(host)) return true;
    if (isLoopback(host) && !asksLoopback) return true;
    return rules.some((rule) => (rule.port === null || rule.port === port) && rule.matches(host));
  };
}
