import { BlockList, isIP } from "node:net";
import { Fault } from "#protocol/faults/fault.ts";
import { classOf } from "#storage/network/address-rules.ts";
import { boundResolve } from "#storage/network/bound-resolve.ts";
import { pinnedLookup, resolveAll, type Resolve, type WhyRefused } from "#storage/network/pinned-lookup.ts";

/**
 * Decides at which addresses a store may be, by the operator's settings. The hub sends requests to endpoints that people
 * enter, so each is checked twice. The first check, on entry, explains a refusal. The second is in the DNS lookup of each
 * connection and prevents DNS rebinding, where a name resolves differently for check and use.
 */

export interface ReachRules {
  /** All private and loopback addresses are allowed. */
  allowPrivate: boolean;
  /** Networks that are allowed although they are private, on any port and without TLS. */
  networks: BlockList;
  /** Hosts that are allowed likewise, with the port they were listed with; null: any port. */
  hosts: ReadonlyMap<string, number | null>;
  /** Ports that are allowed at public addresses. */
  ports: ReadonlySet<number>;
  /** Plain HTTP to public addresses is allowed. */
  allowHttp: boolean;
}

export interface Reach {
  rules: ReachRules;
  resolve: Resolve;
}

/** HTTP and HTTPS, their usual alternatives, and the default ports of MinIO, SeaweedFS, Garage and Ceph. */
const USUAL_PORTS = [80, 443, 8080, 8443, 9000, 9443, 8333, 3900, 7480];
/** SMTP relay, submission over implicit TLS, submission, and the usual alternative to the latter. */
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

/** Adds one entry: an address, a network in CIDR form, or a host with or without a port. */
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

/** Reads the rules from the environment. @throws Fault BAD_INPUT, naming the variable */
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

/**
 * Returns the URL of a mail server: `smtps` if TLS starts before any data is sent, `smtp` if the connection is never
 * encrypted.
 */
export const mailEndpoint = (server: { host: string; port: string; isEncrypted: boolean }): string => {
  const host = isIP(server.host) === 6 ? `[${server.host}]` : server.host;
  return `${server.isEncrypted ? "smtps" : "smtp"}://${host.toLowerCase()}:${server.port}`;
};

/** Returns a function that tells why an address is refused for the endpoint; null: allowed. Pure. */
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
 * Refuses an endpoint if any address of its name is refused, with the reason. A name that does not resolve here passes: the
 * test of the profile then reports it. @throws Fault ENDPOINT_REFUSED
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

/**
 * Returns the DNS lookup for connections to the endpoint. A refused literal address fails here. @throws Fault
 * ENDPOINT_REFUSED
 */
export function lookupFor(endpoint: string, reach: Reach) {
  const host = bareHost(new URL(endpoint));
  const why = whyRefused(reach.rules, endpoint);
  if (isIP(host) !== 0 && why(host) !== null) throw new Fault("ENDPOINT_REFUSED", { subject: host });
  return pinnedLookup(why, reach.resolve);
}

/** Two of Node's four threads stay free while a resolver does not answer. */
const LOOKUPS = { answerMs: 10_000, mostAtOnce: 2 };

/** Returns the operator's rules with the resolver of this machine, whose lookups are bounded. */
export const createReach = (rules: ReachRules): Reach => ({ rules, resolve: boundResolve(resolveAll, LOOKUPS) });
