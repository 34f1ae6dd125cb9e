import { shuffle } from "#protocol/benchmarks/plan-cases.ts";
import { randomFrom } from "#protocol/base/random-from.ts";

/**
 * A small version of the fleet in the SaladCloud guide: nodes in the same regions, and a link of its own for each node and
 * store. Round trips and mean rates are those of the guide's table, with rates divided by ten, so that two cores carry the
 * fleet. The table has no rows for the bucket region US West, where the guide had buckets too; those three rows are ours.
 */

export const STORES = ["eu-central", "us-east", "us-west"] as const;
export type StoreName = (typeof STORES)[number];
export const REGIONS = ["north-america", "europe", "south-america"] as const;
export type NodeRegion = (typeof REGIONS)[number];

/** Values of the guide between a region of nodes and a region of buckets. */
export interface GuidePair {
  rttMs: number;
  upMbit: number;
  downMbit: number;
  source: "guide" | "ours";
}

const guide = (rttMs: number, upMbit: number, downMbit: number): GuidePair => ({
  rttMs,
  upMbit,
  downMbit,
  source: "guide",
});
const ours = (rttMs: number, upMbit: number, downMbit: number): GuidePair => ({
  ...guide(rttMs, upMbit, downMbit),
  source: "ours",
});

/** From the guide's section "Impact of RTT on Throughput". */
export const GUIDE_PAIRS: Readonly<Record<NodeRegion, Readonly<Record<StoreName, GuidePair>>>> = {
  "north-america": {
    "eu-central": guide(123.3, 146.5, 299.12),
    "us-east": guide(40.35, 285.79, 463.04),
    "us-west": ours(65, 240, 400),
  },
  europe: {
    "eu-central": guide(28.66, 184.23, 365.38),
    "us-east": guide(119.2, 150.05, 268.3),
    "us-west": ours(150, 130, 240),
  },
  "south-america": {
    "eu-central": guide(230.34, 92.4, 178.69),
    "us-east": guide(147.34, 115.42, 216.03),
    "us-west": ours(180, 105, 200),
  },
};

/** Nodes in each region, per hundred: the guide's 60, 25 and 8, with the rest added to the last. */
const SHARES: Readonly<Record<NodeRegion, number>> = { "north-america": 60, europe: 25, "south-america": 15 };

/** One emulated link between a node and a store. */
export interface EmulatedLink {
  rttMs: number;
  upMbit: number;
  downMbit: number;
  lossPercent: number;
}

export interface EmulatedNode {
  /** `node-01`. */
  name: string;
  region: NodeRegion;
  links: Record<StoreName, EmulatedLink>;
}

const SCALE = 10;
const [LEAST_MBIT, MOST_MBIT] = [8, 60];
/** Ratio of the rates of the best and the worst node. */
const SPREAD = 2.7;
const LEAST_FACTOR = 0.6;
/** Largest difference between the round trip of a node and that of its region, as a share. */
const RTT_SPREAD = 0.15;
/**
 * Packet loss of two in five nodes. The rate of one connection falls with the square root of the loss. So at a tenth of the
 * guide's rates a link needs a hundred times the loss of a real one to limit a connection to the same share.
 */
const LOSS_PERCENT = 0.03;

/** Returns the nodes and their links, determined by the seed. A small fleet has each node in another region. */
export function emulatedFleet({ nodes, seed }: { nodes: number; seed: number }): EmulatedNode[] {
  const random = randomFrom(seed);
  const places = Array.from({ length: nodes }, (_, index) => index);
  const ranks = shuffle(places, random);
  return places.map((index) => {
    const region = regionOf(index, nodes);
    const rank = nodes === 1 ? 0.5 : (ranks[index] ?? 0) / (nodes - 1);
    const factor = LEAST_FACTOR * SPREAD ** rank;
    // Not every household has a slower uplink: one link in four is symmetric.
    const isEven = index % 4 === 3;
    const lossPercent = index % 5 === 1 || index % 5 === 4 ? LOSS_PERCENT : 0;
    const stretch = 1 + RTT_SPREAD * (2 * random() - 1);
    const linkTo = (store: StoreName): EmulatedLink => {
      const { rttMs, upMbit, downMbit } = GUIDE_PAIRS[region][store];
      const down = rateOf(downMbit * factor);
      return {
        rttMs: Math.round(rttMs * stretch * 10) / 10,
        upMbit: isEven ? down : rateOf(upMbit * factor),
        downMbit: down,
        lossPercent,
      };
    };
    return {
      name: `node-${String(index + 1).padStart(2, "0")}`,
      region,
      links: {
        "eu-central": linkTo("eu-central"),
        "us-east": linkTo("us-east"),
        "us-west": linkTo("us-west"),
      },
    };
  });
}

const rateOf = (guideMbit: number): number =>
  Math.round(Math.min(MOST_MBIT, Math.max(LEAST_MBIT, guideMbit / SCALE)) * 10) / 10;

function regionOf(index: number, nodes: number): NodeRegion {
  // A small fleet is spread evenly over the regions, a large one like the guide's.
  if (nodes < 2 * REGIONS.length) return REGIONS[index % REGIONS.length] ?? "europe";
  let upTo = 0;
  for (const region of REGIONS) {
    upTo += SHARES[region];
    if (index < Math.round((upTo / 100) * nodes)) return region;
  }
  return "south-america";
}
