import { describe, expect, test } from "vitest";
import { Fault } from "#protocol/faults/fault.ts";
import type { StoreTraits } from "#protocol/wire/operations.ts";
import { PROVIDERS } from "#protocol/base/provider-names.ts";
import { NO_TUNING, tuned } from "#protocol/wire/tuning.ts";
import { pieceCountFor, pieceOfPart, planParts } from "./plan.ts";
import { traitsOf } from "../providers/providers.ts";

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;
const S3 = traitsOf("aws");

/** A small generator with a seed, so that a failure can be repeated. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

interface Sample {
  sizeBytes: number;
  traits: StoreTraits;
  requestedPartBytes?: number;
}

function samples(): Sample[] {
  const next = random(20_261_121);
  const found: Sample[] = [];
  for (const provider of PROVIDERS) {
    const traits = traitsOf(provider);
    for (let round = 0; round < 40; round++) {
      const sizeBytes = Math.min(Math.floor(2 ** (next() * 44)), traits.maxPartBytes * traits.maxParts);
      const requested = next() < 0.5 ? undefined : Math.floor(2 ** (next() * 36));
      found.push({ sizeBytes, traits, ...(requested !== undefined && { requestedPartBytes: requested }) });
    }
    for (const around of [traits.preferredPartBytes, traits.minPartBytes, traits.maxPartBytes]) {
      for (const offBy of [-1, 0, 1]) found.push({ sizeBytes: around + offBy, traits });
    }
  }
  return found;
}

test("a store of few parts gets larger ones: 50 GB at Scaleway are at most 1,000", () => {
  const { parts, partBytes } = planParts({
    sizeBytes: 50e9,
    traits: traitsOf("scaleway"),
    requestedPartBytes: 8 * MIB,
  });
  expect(parts.length).toBeLessThanOrEqual(1000);
  expect(partBytes).toBe(48 * MIB);
});

describe("every plan", () => {
  test("covers the file exactly, in order, without gaps", () => {
    for (const sample of samples()) {
      let next = 0;
      const wrong = planParts(sample).parts.filter(({ partNumber, offset, length }, index) => {
        const asExpected = partNumber === index + 1 && offset === next && length > 0;
        next += length;
        return !asExpected;
      });
      expect(wrong).toEqual([]);
      expect(next).toBe(sample.sizeBytes);
    }
  });

  test("has equal parts except the last, within every limit of the store", () => {
    for (const sample of samples()) {
      const { partBytes, parts } = planParts(sample);
      expect(parts.slice(0, -1).every(({ length }) => length === partBytes)).toBe(true);
      expect(partBytes).toBeGreaterThanOrEqual(sample.traits.minPartBytes);
      expect(partBytes).toBeLessThanOrEqual(sample.traits.maxPartBytes);
      expect(parts.length).toBeLessThanOrEqual(Math.min(sample.traits.maxParts, 9000));
    }
  });

  test("has parts of whole MiB", () => {
    for (const sample of samples()) expect(planParts(sample).partBytes % MIB).toBe(0);
  });

  test("is the same each time", () => {
    for (const sample of samples().slice(0, 20)) expect(planParts(sample)).toEqual(planParts(sample));
  });
});

describe("planParts", () => {
  test("has no parts for an empty file", () => {
    expect(planParts({ sizeBytes: 0, traits: S3 }).parts).toEqual([]);
  });

  test("sends a file of at most one part whole", () => {
    expect(planParts({ sizeBytes: 1, traits: S3 }).parts).toEqual([{ partNumber: 1, offset: 0, length: 1 }]);
    expect(planParts({ sizeBytes: 8 * MIB, traits: S3 }).parts).toHaveLength(1);
    expect(planParts({ sizeBytes: 8 * MIB + 1, traits: S3 }).parts).toEqual([
      { partNumber: 1, offset: 0, length: 5 * MIB },
      { partNumber: 2, offset: 5 * MIB, length: 3 * MIB + 1 },
    ]);
  });

  test("gives a file about as many parts as fill a long link, larger ones for larger files, and as large as it must", () => {
    expect(planParts({ sizeBytes: 300_000_000, traits: S3 }).partBytes).toBe(5 * MIB);
    expect(planParts({ sizeBytes: 512 * MIB, traits: S3 }).partBytes).toBe(8 * MIB);
    expect(planParts({ sizeBytes: 20 * GIB, traits: S3 }).partBytes).toBe(16 * MIB);
    const huge = planParts({ sizeBytes: 900 * GIB, traits: S3 });
    expect(huge.partBytes).toBe(103 * MIB);
    expect(huge.parts.length).toBeLessThanOrEqual(9000);
  });

  test("uses Storj's 64 MiB whatever is requested below it", () => {
    expect(planParts({ sizeBytes: GIB, traits: traitsOf("storj"), requestedPartBytes: 5 * MIB }).partBytes).toBe(
      64 * MIB,
    );
  });

  test("follows the request of the engine within the limits, rounded up to a MiB", () => {
    expect(planParts({ sizeBytes: GIB, traits: S3, requestedPartBytes: 20 * MIB - 5 }).partBytes).toBe(20 * MIB);
    expect(planParts({ sizeBytes: GIB, traits: S3, requestedPartBytes: 1 }).partBytes).toBe(5 * MIB);
    expect(planParts({ sizeBytes: GIB, traits: S3, requestedPartBytes: 9 * GIB }).partBytes).toBe(5 * GIB);
  });

  test("respects a store that takes few parts", () => {
    const { parts } = planParts({ sizeBytes: 100 * GIB, traits: { ...S3, maxParts: 1000 } });
    expect(parts.length).toBeLessThanOrEqual(1000);
  });

  test("refuses a file the store cannot hold, and says how much it holds", () => {
    const traits = { ...S3, maxPartBytes: 8 * MIB, maxParts: 10 };
    expect(planParts({ sizeBytes: 80 * MIB, traits }).parts).toHaveLength(10);
    const plan = () => planParts({ sizeBytes: 80 * MIB + 1, traits });
    expect(plan).toThrow(Fault);
    expect(plan).toThrow(expect.objectContaining({ code: "TOO_LARGE", message: expect.stringContaining("80.0 MiB") }));
  });
});

describe("pieces of a piece map", () => {
  test("are one for each part while they fit", () => {
    expect(pieceCountFor(0)).toBe(0);
    expect(pieceCountFor(240)).toBe(240);
    expect(pieceOfPart(17, 240)).toBe(17);
  });

  test("share many parts evenly, first to last", () => {
    expect(pieceCountFor(9000)).toBe(240);
    expect(pieceOfPart(0, 9000)).toBe(0);
    expect(pieceOfPart(8999, 9000)).toBe(239);
    const filled = new Set(Array.from({ length: 241 }, (_, index) => pieceOfPart(index, 241)));
    expect(filled.size).toBe(240);
  });
});

test("a part size that people set is taken whatever the file's, within what the store and the number of parts allow", () => {
  const set = tuned(S3, { partBytes: 64 * MIB, connections: 500 });
  expect(planParts({ sizeBytes: 3 * GIB, traits: set }).partBytes).toBe(64 * MIB);
  expect(planParts({ sizeBytes: 100 * MIB, traits: set }).partBytes).toBe(64 * MIB);
  expect(planParts({ sizeBytes: 3 * GIB, traits: tuned(S3, { ...NO_TUNING, partBytes: 5 * MIB }) }).partBytes).toBe(
    5 * MIB,
  );
  const storj = tuned(traitsOf("storj"), { ...NO_TUNING, partBytes: 8 * MIB });
  expect(planParts({ sizeBytes: GIB, traits: storj }).partBytes).toBe(64 * MIB);
  expect(set.startConnections).toBe(S3.mostConnections);
  expect(tuned(S3, NO_TUNING)).toEqual(S3);
});
