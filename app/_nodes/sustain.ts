import { formatBytes, formatDuration, formatRate, type RateUnit } from "#protocol/units.ts";
import type { NodeRow } from "#protocol/views.ts";

/**
 * Whether a node's uplink can keep up with how often it saves: the size of a checkpoint over the rate measured while it
 * uploaded. Said only when work already piles up and the rate was measured for a while, never from one slow moment.
 */
export interface CannotSustain {
  run: string;
  /** What is wrong, in one sentence. */
  title: string;
  /** Why, and what can be done. */
  why: string;
}

/** Samples (10 s each) with bytes moving that make a rate worth speaking of. */
const LEAST_SAMPLES = 3;
/** Round up to what people would set: five minutes. */
const STEP_MS = 5 * 60_000;

type Uplink = Pick<NodeRow, "state" | "runs" | "upHistory">;

/** The first run of the node that saves more often than its uplink allows, or null. */
export function cannotSustain(node: Uplink, unit: RateUnit): CannotSustain | null {
  const moving = node.upHistory.filter((rate) => rate > 0);
  if (node.state !== "online" || moving.length < LEAST_SAMPLES) return null;
  const rate = moving.reduce((sum, value) => sum + value, 0) / moving.length;
  for (const run of node.runs) {
    if (!run.isWriter || run.intervalMs === null || run.intervalMs === 0 || run.safeBytes === 0) continue;
    if (run.risk.checkpoints < 2) continue;
    const neededMs = (run.safeBytes / rate) * 1000;
    if (neededMs <= run.intervalMs) continue;
    const advised = Math.ceil(neededMs / STEP_MS) * STEP_MS;
    return {
      run: run.run,
      title: `This uplink cannot sustain a checkpoint every ${formatDuration(run.intervalMs)}.`,
      why: `${formatBytes(run.safeBytes)} at ${formatRate(rate, unit)} takes ${formatDuration(neededMs)}; ${run.risk.checkpoints} are waiting. Save every ${formatDuration(advised)} or longer, save less, or move the run to a node with at least ${formatRate(run.safeBytes / (run.intervalMs / 1000), unit)} up.`,
    };
  }
  return null;
}
