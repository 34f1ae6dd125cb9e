import type { Finding } from "#protocol/alerts/advice.ts";
import { leastIntervalMs } from "#protocol/history/sustain.ts";
import { medianOf } from "#protocol/base/robust.ts";

/** A run that is being written, as its node tells it, and what its node's last uploads reached (bytes per second). */
export interface WrittenRun {
  nodeId: string;
  profileId: string;
  run: string;
  /** Between its last two checkpoints. */
  intervalMs: number | null;
  checkpointBytes: number;
  /** Captured and not safe yet. */
  waitingBytes: number;
  rates: readonly number[];
}

/** Uploads of the node. */
export const LEAST = 3;
const STEP_MS = 5 * 60_000;

/** Runs that save more often than their node's uplink can carry away, and how often it could. */
export function findIntervals(runs: readonly WrittenRun[]): Finding<string>[] {
  return runs.flatMap((one): Finding<string>[] => {
    const { intervalMs, checkpointBytes, rates, nodeId, profileId, run, waitingBytes } = one;
    if (intervalMs === null || intervalMs <= 0 || rates.length < LEAST) return [];
    const rate = medianOf(rates);
    const needed = leastIntervalMs(checkpointBytes, rate);
    if (needed === null || needed <= intervalMs) return [];
    // What comes in less what goes out: above nothing it never ends.
    const growth = checkpointBytes / (intervalMs / 1000) - rate;
    return [
      {
        kind: "interval",
        node: nodeId,
        profileId,
        region: null,
        way: "up",
        run,
        betterId: null,
        better: null,
        facts: [
          { label: "a checkpoint every", value: intervalMs, as: "duration" },
          { label: "each of", value: checkpointBytes, as: "bytes" },
          { label: "goes up, usually, at", value: rate, as: "rate" },
          { label: "link sustains one every", value: Math.ceil(needed / STEP_MS) * STEP_MS, as: "duration" },
          { label: "waits now", value: waitingBytes, as: "bytes" },
          ...(growth > 0 ? [{ label: "the wait grows by", value: growth, as: "rate" as const }] : []),
        ],
        samples: rates.length,
        least: LEAST,
        ofBenchmarks: 0,
        nodes: 1,
      },
    ];
  });
}
