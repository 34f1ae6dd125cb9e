import type { Finding } from "#protocol/alerts/advice.ts";
import { leastIntervalMs } from "#protocol/history/sustain.ts";
import { medianOf } from "#protocol/base/robust.ts";

/** A run that is being written, as its node reports it, with the rates of the node's last uploads (bytes per second). */
export interface WrittenRun {
  nodeId: string;
  profileId: string;
  run: string;
  /** Time between the last two checkpoints. */
  intervalMs: number | null;
  checkpointBytes: number;
  /** Bytes captured and not safe yet. */
  waitingBytes: number;
  rates: readonly number[];
}

/** Least uploads of the node. */
export const LEAST = 3;
const STEP_MS = 5 * 60_000;

/** Finds runs that save more often than their node's uplink can carry, and the shortest interval that it sustains. */
export function findIntervals(runs: readonly WrittenRun[]): Finding<string>[] {
  return runs.flatMap((one): Finding<string>[] => {
    const { intervalMs, checkpointBytes, rates, nodeId, profileId, run, waitingBytes } = one;
    if (intervalMs === null || intervalMs <= 0 || rates.length < LEAST) return [];
    const rate = medianOf(rates);
    const needed = leastIntervalMs(checkpointBytes, rate);
    if (needed === null || needed <= intervalMs) return [];
    // Bytes captured less bytes uploaded, per second; above zero the backlog grows without end.
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
