import { BlockList, isIP } from "node:net";

/**
 * Decides which addresses a store may have. An endpoint is text that a person entered or a hub sent. It must never lead
 * to a cloud's metadata service, and into a private network only where the operator allows it. Pure.
 */

/** `never`: refused always. `inside`: private, shared or reserved. `public`: everything else. */
export type AddressClass = "never" | "inside" | "public";

type Row = readonly [network: string, prefix: number, family: "ipv4" | "ipv6"];

interface Networks {
  check(address: string, family: Row[2]): boolean;
}

/** Builds the list on first use. Most commands need none, and a startup snapshot cannot contain a `BlockList`. */
const networksOf = (rows: readonly Row[]): Networks => {
  let list: BlockList | null = null;
  const make = (): BlockList => {
    const made = new BlockList();
    for (const row of rows) made.addSubnet(...row);
    return made;
  };
  return { check: (address, family) => (list ??= make()).check(address, family) };
};

/** Metadata services, link-local, multicast and unspecified addresses. */
const never = networksOf([
  ["0.0.0.0", 8, "ipv4"],
  ["169.254.0.0", 16, "ipv4"],
  ["100.100.100.200", 32, "ipv4"],
  ["168.63.129.16", 32, "ipv4"],
  ["192.0.0.192", 32, "ipv4"],
  ["224.0.0.0", 4, "ipv4"],
  ["240.0.0.0", 4, "ipv4"],
  ["::", 128, "ipv6"],
  ["fe80::", 10, "ipv6"],
  ["ff00::", 8, "ipv6"],
  ["fd00:ec2::254", 128, "ipv6"],
  ["fd20:ce::254", 128, "ipv6"],
]);

/** The IANA registries of special-purpose addresses (RFC 6890 and its successors), except those in `never`. */
const inside = networksOf([
  ["10.0.0.0", 8, "ipv4"],
  ["100.64.0.0", 10, "ipv4"],
  ["127.0.0.0", 8, "ipv4"],
  ["172.16.0.0", 12, "ipv4"],
  ["192.0.0.0", 24, "ipv4"],
  ["192.0.2.0", 24, "ipv4"],
  ["192.88.99.0", 24, "ipv4"],
  ["192.168.0.0", 16, "ipv4"],
  ["198.18.0.0", 15, "ipv4"],
  ["198.51.100.0", 24, "ipv4"],
  ["203.0.113.0", 24, "ipv4"],
  ["::1", 128, "ipv6"],
  ["64:ff9b:1::", 48, "ipv6"],
  ["100::", 64, "ipv6"],
  ["2001::", 23, "ipv6"],
  ["2001:db8::", 32, "ipv6"],
  ["fc00::", 7, "ipv6"],
  ["fec0::", 10, "ipv6"],
]);

/** IPv6 ranges that embed an IPv4 address (mapped, compatible, translated, 6to4), and the 16-bit group at which it starts. */
const carriers: readonly (readonly [list: Networks, group: number])[] = [
  [networksOf([["2002::", 16, "ipv6"]]), 1],
  [
    networksOf([
      ["::ffff:0:0", 96, "ipv6"],
      ["::ffff:0:0:0", 96, "ipv6"],
      ["64:ff9b::", 96, "ipv6"],
      ["::", 96, "ipv6"],
    ]),
    6,
  ],
];

/** Returns the eight groups of an IPv6 address in any notation. */
export function groupsOf(address: string): number[] {
  const [start = "", end] = new URL(`http://[${address}]`).hostname.slice(1, -1).split("::", 2);
  const read = (text: string | undefined): number[] =>
    text === undefined || text === "" ? [] : text.split(":").map((group) => Number.parseInt(group, 16));
  const [head, tail] = [read(start), read(end)];
  return [...head, ...Array.from({ length: 8 - head.length - tail.length }, () => 0), ...tail];
}

function innerIpv4(address: string): string | null {
  const carrier = carriers.find(([list]) => list.check(address, "ipv6"));
  if (carrier === undefined) return null;
  const [high = 0, low = 0] = groupsOf(address).slice(carrier[1]);
  return [high >> 8, high & 255, low >> 8, low & 255].join(".");
}

/** Returns the class of an address; text that is no IP address is `never`. An embedded IPv4 address decides for an IPv6 one. */
export function classOf(address: string): AddressClass {
  const bare = address.split("%", 1)[0] ?? "";
  const family = isIP(bare);
  if (family === 0) return "never";
  const kind = family === 4 ? "ipv4" : "ipv6";
  if (never.check(bare, kind)) return "never";
  if (inside.check(bare, kind)) return "inside";
  const inner = family === 6 ? innerIpv4(bare) : null;
  return inner === null ? "public" : classOf(inner);
}
