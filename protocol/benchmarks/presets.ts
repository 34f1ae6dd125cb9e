/**
 * Settings that Storj's documents give for its S3 gateway ("Hot Rodding Decentralized Storage"). A segment has 64 MB, so
 * parts have 64 MiB, at most 96 at a time. An engine that buffers whole parts needs part size times connections of memory.
 */

const MIB = 1024 * 1024;
const GB = 1_000_000_000;

/**
 * Shortest part of a benchmark. S3 refuses a shorter one unless it is the last of its object. Some engines raise such a size
 * silently and others fail, so a comparison would say nothing.
 */
export const LEAST_PART_BYTES = 5 * MIB;
export const PART_TOO_SHORT = "parts are 5 MiB or longer, because S3 refuses shorter ones";

export interface BenchPreset {
  sizeBytes: number;
  partBytes: number;
  connections: number;
  says: string;
}

const storj = (sizeBytes: number, connections: number, says: string): BenchPreset => ({
  sizeBytes,
  partBytes: 64 * MIB,
  connections,
  says,
});

export const BENCH_PRESETS = {
  guide: { sizeBytes: 300_000_000, partBytes: 10_000_000, connections: 10, says: "the SaladCloud guide" },
  "storj-1gb": storj(1024 * MIB, 16, "one file of 1 GB, all of it at once"),
  "storj-1.5gb": storj(1536 * MIB, 24, "one of four files side by side"),
  "storj-3gb": storj(3 * GB, 48, "one of two files side by side"),
  "storj-6gb": storj(6 * GB, 96, "one file, the best there is"),
  "storj-10gb-quarter": storj(10_240 * MIB, 40, "a quarter of the best rate"),
  "storj-10gb-half": storj(10_240 * MIB, 80, "half of the best rate"),
  "storj-10gb-full": storj(10_240 * MIB, 160, "the best rate"),
} as const satisfies Record<string, BenchPreset>;

export type PresetName = keyof typeof BENCH_PRESETS;
export const isPreset = (text: string): text is PresetName => Object.hasOwn(BENCH_PRESETS, text);
