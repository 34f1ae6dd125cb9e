import { BlockList, isIP } from "node:net";
import { Fault } from "#protocol/faults/fault.ts";
import { classOf } from "#storage/network/address-rules.ts";
import { pinnedLookup, resolveAll, type Resolve, type WhyRefused } from "#storage/network/pinned-lookup.ts";

/**
 * Where a store may be, as the operator of this hub says. The hub sends requests to endpoints that people enter, so each
 * is checked twice: when it is entered, with a sentence that says why not, and inside every lookup that a connection is
 * made with, so that a name cannot be one address for the check and another one for the use.
 */

export interface ReachRules {
  /** Private and loopback addresses may be used, all of them. */
  allowPrivate: boolean;
  /** Networks that may be used although they are private, on any port and without TLS. */
  networks: BlockList;
  /** Hosts of which the same is true, with the port they were named with; null: any. */
  hosts: ReadonlyMap<string, number | null>;
  /** Where a public address may be spoken to. */
  ports: ReadonlySet<number>;
  /** Plain http to public addresses. */
  allowHttp: boolean;
}

export interface Reach {
  rules: ReachRules;
  resolve: Resolve;
}

/** HTTP and HTTPS, their usual second choices, and the usual ports of MinIO, SeaweedFS, Garage and Ceph. */
const USUAL_PORTS = [80, 443, 8080, 8443, 9000, 9443, 8333, 3900, 7480];
/** Relay, submission with TLS from the start, submission, and the usual second choice of the latter. */
const MAIL_PORTS: ReadonlySet<number> = new Set([25, 465, 587, 2525]);

type Variables = Readonly<Record<string, string | undefined>>;

const refuseSetting = (subject: string, detail: string): Fault => new Fault("BAD_INPUT", { subject, detail });

const wordsOf = (variables: Variables, name: string): string[] =>
  (variables[name] ?? "").split(/[\s,]+/).filter((word) => word !== "");

function isOn(variables: Variables, name: string): boolean {
  const [word = "0"] = wordsOf(variables, name);
  if (/^(1|true|yes|on)$/i.test(word)) return true;
  if (/^(0|false|no|off)$/i.test(word)) return false;
  throw refuseSetting(name, "it is 1 or 0");
}

const ALLOW = "TIDEMARK_ALLOW_ENDPOINTS";

/** Adds one word: an address, a network in CIDR form, or a host, each host with or without a port. */
function allow(word: string, into: { networks: BlockList; hosts: Map<string, number | null> }): void {
  const [network = "", prefix] = word.split("/", 2);
  const family = isIP(network);
  if (family !== 0) {
    const bits = prefix === undefined ? (family === 4 ? 32 : 128) : Number(prefix);
    if (!Number.isInteger(bits) || bits < 1 || bits > (family === 4 ? 32 : 128) || prefix === "") {
      throw refuseSetting(ALLOW, `${word} is no network; one looks like 10.20.0.0/16`);
    }
    into.networks.addSubnet(network, bits, family === 4 ? "ipv4" : "ipv6");
    return;
  }
  const url = prefix === undefined && !word.includes("@") ? URL.parse(`http://${word}`) : null;
  const port = /:(\d{1,5})$/.exec(word)?.[1];
  if (url === null || url.pathname !== "/" || url.search !== "" || url.hash !== "" || url.hostname.includes("*")) {
    throw refuseSetting(ALLOW, `${word} is neither a host, nor an address, nor a network such as 10.20.0.0/16`);
  }
  into.hosts.set(url.hostname, port === undefined ? null : Number(port));
}

/** @throws Fault BAD_INPUT, naming the variable */
export function readReach(variables: Variables, on: { isLoopback: boolean }): ReachRules {
  const into = { networks: new BlockList(), hosts: new Map<string, number | null>() };
  for (const word of wordsOf(variables, ALLOW)) allow(word, into);
  const ports = new Set(USUAL_PORTS);
  for (const word of wordsOf(variables, "TIDEMARK_ENDPOINT_PORTS")) {
    const port = Number(word);
    if (!/^\d{1,5}$/.test(word) || port < 1 || port > 65_535) {
      throw refuseSetting("TIDEMARK_ENDPOINT_PORTS", "a port is a number from 1 to 65535");
    }
    ports.add(port);
  }
  return {
    allowPrivate: on.isLoopback || isOn(variables, "TIDEMARK_ALLOW_PRIVATE_ENDPOINTS"),
    allowHttp: isOn(variables, "TIDEMARK_ALLOW_HTTP_ENDPOINTS"),
    ports,
    ...into,
  };
}

const bareHost = (url: URL): string => url.hostname.replace(/^\[|\]$/g, "");
const portOf = (url: URL): number => (url.port === "" ? (url.protocol === "https:" ? 443 : 80) : Number(url.port));

/** An address of a mail server: `smtps` where the connection is encrypted before anything of ours crosses it, `smtp` where it never is. */
export const mailEndpoint = (server: { host: string; port: string; isEncrypted: boolean }): string => {
  const host = isIP(server.host) === 6 ? `[${server.host}]` : server.host;
  return `${server.isEncrypted ? "smtps" : "smtp"}://${host.toLowerCase()}:${server.port}`;
};

/** Why the endpoint may not lead to an address, or null. Pure. */
export function whyRefused(rules: ReachRules, endpoint: string): WhyRefused {
  const url = new URL(endpoint);
  const port = portOf(url);
  const named = rules.hosts.get(url.hostname);
  const isNamed = named === null || named === port;
  const isMail = url.protocol === "smtp:" || url.protocol === "smtps:";
  const isEncrypted = url.protocol === "https:" || url.protocol === "smtps:";
  return (address) => {
    const found = classOf(address);
    if (found === "never") return "link-local, metadata and multicast addresses are never allowed";
    const isListed = isNamed || rules.networks.check(address, isIP(address) === 6 ? "ipv6" : "ipv4");
    if (isListed) return null;
    if (found === "inside") {
      if (rules.allowPrivate) return null;
      return "it is a private address; the hub's operator allows one with TIDEMARK_ALLOW_ENDPOINTS, all with TIDEMARK_ALLOW_PRIVATE_ENDPOINTS=1";
    }
    if (!rules.ports.has(port) && !(isMail && MAIL_PORTS.has(port))) {
      return `port ${port} is not among those of ${isMail ? "mail servers" : "stores"}; see TIDEMARK_ENDPOINT_PORTS`;
    }
    if (!isEncrypted && !rules.allowHttp) {
      return isMail
        ? "the password would cross the network in the clear; use TLS, or see TIDEMARK_ALLOW_HTTP_ENDPOINTS"
        : "signatures would cross the network in the clear; use https, or see TIDEMARK_ALLOW_HTTP_ENDPOINTS";
    }
    return null;
  };
}

/**
 * Refuses an endpoint when any address its name resolves to is refused, and says why: for whoever may enter one. A name
 * that does not resolve here passes: then there is nothing to reach, and the test of the profile says so.
 * @throws Fault ENDPOINT_REFUSED
 */
export async function refuseEndpoint(endpoint: string, reach: Reach): Promise<void> {
  const host = bareHost(new URL(endpoint));
  const why = whyRefused(reach.rules, endpoint);
  const addresses = isIP(host) === 0 ? await reach.resolve(host).catch(() => []) : [host];
  for (const address of addresses) {
    const detail = why(address);
    if (detail !== null) throw new Fault("ENDPOINT_REFUSED", { op: "check the endpoint", subject: endpoint, detail });
  }
}

/** The lookup for connections to the endpoint. An address that is refused outright is refused here. @throws Fault ENDPOINT_REFUSED */
export function lookupFor(endpoint: string, reach: Reach) {
  const host = bareHost(new URL(endpoint));
  const why = whyRefused(reach.rules, endpoint);
  if (isIP(host) !== 0 && why(host) !== null) throw new Fault("ENDPOINT_REFUSED", { subject: host });
  return pinnedLookup(why, reach.resolve);
}

/** As the operator says, with the resolver of this machine. */
export const createReach = (rules: ReachRules): Reach => ({ rules, resolve: resolveAll });
