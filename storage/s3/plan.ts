import { Fault } from "#protocol/faults/fault.ts";
import type { StoreTraits } from "#protocol/wire/operations.ts";
import { formatBytes } from "#protocol/base/units.ts";

/**
 * Splits a file into parts. All parts but the last are equal (R2 requires that), in order and without gaps, within the
 * store's limits, and constant during an upload. Pure: the same size and traits give the same plan on every machine, so
 * that a restarted worker can resume.
 */

const MIB = 1024 * 1024;
/** Below the protocol's 10,000, so that a plan never reaches a store's exact limit. */
const MOST_PARTS = 9000;
const TARGET_PARTS = 64;
const LEAST_DEFAULT_BYTES = 5 * MIB;
const LARGEST_DEFAULT_BYTES = 16 * MIB;
/** Most pieces in the progress map of a transfer. */
const MOST_PIECES = 240;

export interface PlannedPart {
  partNumber: number;
  offset: number;
  length: number;
}

export interface PartPlan {
  /** Length of every part but the last. */
  partBytes: number;
  /** Empty for a file of 0 bytes; a single part is sent with PutObject. */
  parts: PlannedPart[];
}

const roundUpToMib = (bytes: number): number => Math.ceil(bytes / MIB) * MIB;

/**
 * Returns the part size for an unknown link: 5 to 16 MiB, or the provider's preference if that is larger. A file gets
 * about as many parts as connections fill a long link, so that all parts end at about the same time.
 */
function defaultPartBytes(sizeBytes: number, traits: StoreTraits): number {
  if (traits.tunedPartBytes !== undefined) return traits.tunedPartBytes;
  if (traits.preferredPartBytes > LARGEST_DEFAULT_BYTES) return traits.preferredPartBytes;
  if (sizeBytes <= traits.preferredPartBytes) return traits.preferredPartBytes;
  return Math.min(LARGEST_DEFAULT_BYTES, Math.max(LEAST_DEFAULT_BYTES, Math.ceil(sizeBytes / TARGET_PARTS)));
}

export interface PlanInput {
  sizeBytes: number;
  traits: StoreTraits;
  /** The engine's preference for this link; the store's limits take precedence. */
  requestedPartBytes?: number;
}

/** Splits a file into parts. @throws Fault TOO_LARGE when the store cannot hold the file in one object */
export function planParts(input: PlanInput): PartPlan {
  const partBytes = planPartBytes(input);
  return { partBytes, parts: cutEvenly(input.sizeBytes, partBytes) };
}

/** Returns the length of all parts but the last. @throws Fault TOO_LARGE as `planParts` */
export function planPartBytes(input: PlanInput): number {
  const { sizeBytes, traits } = input;
  if (sizeBytes > traits.maxPartBytes * traits.maxParts) {
    const most = formatBytes(traits.maxPartBytes * traits.maxParts);
    throw new Fault("TOO_LARGE", { op: "plan", detail: `the store takes at most ${most} in one object` });
  }
  const requested = input.requestedPartBytes ?? defaultPartBytes(sizeBytes, traits);
  const least = Math.max(traits.minPartBytes, Math.ceil(sizeBytes / Math.min(traits.maxParts, MOST_PARTS)));
  return Math.min(roundUpToMib(Math.max(least, requested, 1)), traits.maxPartBytes);
}

/** Returns equal parts of a known total length; the last one may be shorter. */
export function cutEvenly(sizeBytes: number, partBytes: number): PlannedPart[] {
  const parts: PlannedPart[] = [];
  for (let offset = 0; offset < sizeBytes; offset += partBytes) {
    parts.push({ partNumber: parts.length + 1, offset, length: Math.min(partBytes, sizeBytes - offset) });
  }
  return parts;
}

/**
 * Infers the part length from the number of parts; the only part has the file's length. Null unless exactly one multiple
 * of 1 MiB fits, so that it must be looked up.
 */
export function partBytesThatFit(sizeBytes: number, partCount: number): number | null {
  if (partCount === 1) return sizeBytes;
  const fits = (partBytes: number) => Math.ceil(sizeBytes / partBytes) === partCount;
  const least = roundUpToMib(sizeBytes / partCount);
  return fits(least) && !fits(least + MIB) ? least : null;
}

/** Returns the number of pieces in the progress map: one per part, up to the maximum. */
export const pieceCountFor = (partCount: number): number => Math.min(partCount, MOST_PIECES);

/** Returns the map piece (from 0) that shows the part at `index` (from 0). */
export const pieceOfPart = (index: number, partCount: number): number =>
  partCount <= MOST_PIECES ? index : Math.floor((index * MOST_PIECES) / partCount);
