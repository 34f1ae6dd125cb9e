import { Fault } from "#protocol/faults/fault.ts";
import type { StoreTraits } from "#protocol/wire/operations.ts";
import { formatBytes } from "#protocol/base/units.ts";

/**
 * How a file becomes parts. The parts are equal except the last (R2 refuses anything else), lie in order without gaps,
 * respect every limit of the store, and never change inside one upload. Pure: the same size and traits give the same
 * plan on every machine, which is what lets a restarted worker go on where it was.
 */

const MIB = 1024 * 1024;
/** Fewer than the protocol's 10,000, so that a plan never sits at the very edge of a store's limit. */
const MOST_PARTS = 9000;
const WISHED_PARTS = 64;
const LEAST_DEFAULT_BYTES = 5 * MIB;
const LARGEST_DEFAULT_BYTES = 16 * MIB;
/** A transfer's piece map has at most this many pieces. */
const MOST_PIECES = 240;

export interface PlannedPart {
  partNumber: number;
  offset: number;
  length: number;
}

export interface PartPlan {
  /** Length of every part but the last. */
  partBytes: number;
  /** Empty for a file of 0 bytes; a single one is sent as one PutObject. */
  parts: PlannedPart[];
}

const roundUpToMib = (bytes: number): number => Math.ceil(bytes / MIB) * MIB;

/**
 * The part size to use when nothing is known of the link: what gives a file as many parts as connections fill a long
 * link, because they then all end at about the same time; 5 to 16 MiB, or what the provider prefers when that is more.
 */
function defaultPartBytes(sizeBytes: number, traits: StoreTraits): number {
  if (traits.tunedPartBytes !== undefined) return traits.tunedPartBytes;
  if (traits.preferredPartBytes > LARGEST_DEFAULT_BYTES) return traits.preferredPartBytes;
  if (sizeBytes <= traits.preferredPartBytes) return traits.preferredPartBytes;
  return Math.min(LARGEST_DEFAULT_BYTES, Math.max(LEAST_DEFAULT_BYTES, Math.ceil(sizeBytes / WISHED_PARTS)));
}

export interface PlanInput {
  sizeBytes: number;
  traits: StoreTraits;
  /** The engine's wish for this link; the store's limits win. */
  wishedPartBytes?: number;
}

/** Cuts a file into parts. @throws Fault TOO_LARGE when the store cannot hold the file in one object */
export function planParts(input: PlanInput): PartPlan {
  const partBytes = planPartBytes(input);
  return { partBytes, parts: cutEvenly(input.sizeBytes, partBytes) };
}

/** The length of all parts but the last. @throws as `planParts` */
export function planPartBytes(input: PlanInput): number {
  const { sizeBytes, traits } = input;
  if (sizeBytes > traits.maxPartBytes * traits.maxParts) {
    const most = formatBytes(traits.maxPartBytes * traits.maxParts);
    throw new Fault("TOO_LARGE", { op: "plan", detail: `the store takes at most ${most} in one object` });
  }
  const wished = input.wishedPartBytes ?? defaultPartBytes(sizeBytes, traits);
  const least = Math.max(traits.minPartBytes, Math.ceil(sizeBytes / Math.min(traits.maxParts, MOST_PARTS)));
  return Math.min(roundUpToMib(Math.max(least, wished, 1)), traits.maxPartBytes);
}

/** Equal parts of a length that is known, the last one shorter. */
export function cutEvenly(sizeBytes: number, partBytes: number): PlannedPart[] {
  const parts: PlannedPart[] = [];
  for (let offset = 0; offset < sizeBytes; offset += partBytes) {
    parts.push({ partNumber: parts.length + 1, offset, length: Math.min(partBytes, sizeBytes - offset) });
  }
  return parts;
}

/**
 * The length that parts had, from how many there are: when exactly one whole number of MiB fits (or there is only one
 * part); null when it has to be asked for.
 */
export function partBytesThatFit(sizeBytes: number, partCount: number): number | null {
  if (partCount === 1) return sizeBytes;
  const fits = (partBytes: number) => Math.ceil(sizeBytes / partBytes) === partCount;
  const least = roundUpToMib(sizeBytes / partCount);
  return fits(least) && !fits(least + MIB) ? least : null;
}

/** How many pieces a piece map of this many parts has: one each, until there are more parts than pieces. */
export const pieceCountFor = (partCount: number): number => Math.min(partCount, MOST_PIECES);

/** The piece (from 0) that shows the part at `index` (from 0). */
export const pieceOfPart = (index: number, partCount: number): number =>
  partCount <= MOST_PIECES ? index : Math.floor((index * MOST_PIECES) / partCount);
