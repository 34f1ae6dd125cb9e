import { shuffle } from "#protocol/benchmarks/plan-cases.ts";
import { randomFrom } from "#protocol/base/random-from.ts";

/**
 * The fleet of the SaladCloud guide in small: nodes where its nodes were, and for each node and store a link of its own.
 * Round trips and mean rates are those of the guide's table; the rates a tenth of it, so that two cores carry the fleet.
 * Its table has no line for the bucket region US West, though its buckets lay there as well: those three lines are ours.
 */

export const STORES = ["eu-central", "us-east", "us-west"] as const;
export type StoreName = (typeof STORES)[number];
export const REGIONS = ["north-america", "europe", "south-america"] as const;
export type NodeRegion = (typeof REGIONS)[number];

/** What the guide found between a region of nodes and a region of buckets. */
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

/** "Impact of RTT on Throughput". */
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

/** How many of a hundred nodes stand where; the guide's 60, 25 and 8, and the rest with the last. */
const SHARES: Readonly<Record<NodeRegion, number>> = { "north-america": 60, europe: 25, "south-america": 15 };

/** One link: what packets meet on their way between a node and a store. */
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
/** The best node has this many times the rate of the worst. */
const SPREAD = 2.7;
const LEAST_FACTOR = 0.6;
/** The round trip of a node differs from that of its region by at most this share. */
const RTT_SPREAD = 0.15;
/**
 * Two nodes in five lose this share of all packets. The rate of one connection falls with the square root of the loss, so
 * at a tenth of the guide's rates it takes a hundred times a real link's loss for one connection to get the same share of it.
 */
const LOSS_PERCENT = 0.03;

/** The nodes and their links; the seed decides them. Of a few nodes each stands elsewhere. */
export function emulatedFleet({ nodes, seed }: { nodes: number; seed: number }): EmulatedNode[] {
  const random = randomFrom(seed);
  const places = Array.from({ length: nodes }, (_, index) => index);
  const ranks = shuffle(places, random);
  return places.map((index) => {
    const region = regionOf(index, nodes);
    const rank = nodes === 1 ? 0.5 : (ranks[index] ?? 0) / (nodes - 1);
    const factor = LEAST_FACTOR * SPREAD ** rank;
    // Not every household has a slower way up: one in four is the same both ways.
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
  // A few nodes are spread over the regions, many as the guide's were.
  if (nodes < 2 * REGIONS.length) return REGIONS[index % REGIONS.length] ?? "europe";
  let upTo = 0;
  for (const region of REGIONS) {
    upTo += SHARES[region];
    if (index < Math.round((upTo / 100) * nodes)) return region;
  }
  return "south-america";
}
