import { lookup } from "node:dns/promises";
import { BlockList, isIP } from "node:net";
import { Fault } from "#protocol/fault.ts";

/**
 * Where a store may be. The hub sends requests to endpoints people enter, so an endpoint must not lead to the metadata
 * service of the cloud it runs in (never), nor into its private network (only where the operator of the hub said so, or
 * the hub itself listens on loopback only).
 */

const never = new BlockList();
never.addSubnet("169.254.0.0", 16, "ipv4");
never.addSubnet("0.0.0.0", 8, "ipv4");
never.addSubnet("224.0.0.0", 4, "ipv4");
never.addAddress("255.255.255.255", "ipv4");
never.addAddress("100.100.100.200", "ipv4");
never.addSubnet("fe80::", 10, "ipv6");
never.addSubnet("ff00::", 8, "ipv6");
never.addAddress("::", "ipv6");
never.addAddress("fd00:ec2::254", "ipv6");

const inside = new BlockList();
inside.addSubnet("127.0.0.0", 8, "ipv4");
inside.addSubnet("10.0.0.0", 8, "ipv4");
inside.addSubnet("172.16.0.0", 12, "ipv4");
inside.addSubnet("192.168.0.0", 16, "ipv4");
inside.addSubnet("100.64.0.0", 10, "ipv4");
inside.addSubnet("192.0.0.0", 24, "ipv4");
inside.addSubnet("198.18.0.0", 15, "ipv4");
inside.addAddress("::1", "ipv6");
inside.addSubnet("fc00::", 7, "ipv6");

const mapped = new BlockList();
mapped.addSubnet("::ffff:0:0", 96, "ipv6");
mapped.addSubnet("64:ff9b::", 96, "ipv6");

/** The IPv4 address inside a mapped or translated IPv6 one, else null. */
function innerIpv4(address: string): string | null {
  if (!mapped.check(address, "ipv6")) return null;
  const tail = new URL(`http://[${address}]`).hostname.slice(1, -1).split(":").slice(-2);
  const [high = 0, low = 0] = tail.map((group) => Number.parseInt(group === "" ? "0" : group, 16));
  return [high >> 8, high & 255, low >> 8, low & 255].join(".");
}

/** Why a store may not be at `address` (an IP address), or null when it may. Pure. */
export function whyAddressRefused(address: string, policy: { allowPrivate: boolean }): string | null {
  const family = isIP(address);
  if (family === 0) return "it is not an IP address";
  const inner = family === 6 ? innerIpv4(address) : null;
  if (inner !== null) return whyAddressRefused(inner, policy);
  const kind = family === 4 ? "ipv4" : "ipv6";
  if (never.check(address, kind)) return "link-local, metadata and multicast addresses are never allowed";
  if (!policy.allowPrivate && inside.check(address, kind)) {
    return "it is a private address; set TIDEMARK_ALLOW_PRIVATE_ENDPOINTS=1 on the hub to allow those";
  }
  return null;
}

type Resolve = (host: string) => Promise<readonly string[]>;
const resolveAll: Resolve = async (host) => (await lookup(host, { all: true })).map(({ address }) => address);

/**
 * Refuses an endpoint when any address its name resolves to is refused. A name that does not resolve here passes: then
 * there is nothing to reach, and the test of the profile says so.
 * @throws Fault BAD_INPUT
 */
export async function refuseEndpoint(
  endpoint: string,
  policy: { allowPrivate: boolean },
  resolve: Resolve = resolveAll,
): Promise<void> {
  const host = new URL(endpoint).hostname.replace(/^\[|\]$/g, "");
  const addresses = isIP(host) === 0 ? await resolve(host).catch(() => []) : [host];
  for (const address of addresses) {
    const why = whyAddressRefused(address, policy);
    if (why !== null) throw new Fault("BAD_INPUT", { op: "check the endpoint", subject: endpoint, detail: why });
  }
}
