import { isHeard } from "#protocol/fleet/node-status.ts";
import { formatDuration, formatRate, type RateUnit } from "#protocol/base/units.ts";
import type { NodeRow } from "#protocol/wire/views.ts";
import { formatBytes } from "../_ui/text/sizes.ts";

/**
 * A run that saves more often than the node's uplink can carry. The node's own estimate comes first, because it warns before a
 * backlog grows. Without one, the checkpoint size over the measured rate is used, and only when a backlog exists.
 */
export interface CannotSustain {
  run: string;
  /** The problem, in one sentence. */
  title: string;
  /** Reason and remedies. */
  why: string;
}

/** Fewest samples of 10 s with bytes moving for a reliable rate. */
const LEAST_SAMPLES = 3;
/** Advised intervals are multiples of this: five minutes. */
const STEP_MS = 5 * 60_000;

type Uplink = Pick<NodeRow, "state" | "runs" | "upHistory">;

/** Returns the first run that saves more often than the uplink allows, with its interval and the interval it needs; or null. */
export function tooSlowFor(node: Uplink): { run: NodeRow["runs"][number]; everyMs: number; neededMs: number } | null {
  if (!isHeard(node.state)) return null;
  for (const run of node.runs) {
    if (!run.isWriter || run.intervalMs === null || run.intervalMs === 0 || checkpointBytesOf(run) === 0) continue;
    const neededMs = run.leastIntervalMs ?? neededFor(node, run);
    if (neededMs !== null && neededMs > run.intervalMs) return { run, everyMs: run.intervalMs, neededMs };
  }
  return null;
}

/** Returns the finding in words. */
export function cannotSustain(node: Uplink, unit: RateUnit): CannotSustain | null {
  const found = tooSlowFor(node);
  if (found === null) return null;
  const { run, everyMs, neededMs } = found;
  const bytes = checkpointBytesOf(run);
  const rate = (bytes / neededMs) * 1000;
  const advised = Math.ceil(neededMs / STEP_MS) * STEP_MS;
  const { checkpoints } = run.risk;
  const waiting = checkpoints > 1 ? `${checkpoints} are waiting` : "older ones will be skipped";
  return {
    run: run.run,
    title: `This uplink cannot sustain a checkpoint every ${formatDuration(everyMs)}.`,
    why: `${formatBytes(bytes)} at ${formatRate(rate, unit)} takes ${formatDuration(neededMs)}; ${waiting}. Save every ${formatDuration(advised)} or longer, save less, or move the run to a node with at least ${formatRate(bytes / (everyMs / 1000), unit)} up.`,
  };
}

function neededFor(node: Uplink, run: NodeRow["runs"][number]): number | null {
  const moving = node.upHistory.filter((rate) => rate > 0);
  if (moving.length < LEAST_SAMPLES || run.risk.checkpoints < 2) return null;
  const rate = moving.reduce((sum, value) => sum + value, 0) / moving.length;
  return (checkpointBytesOf(run) / rate) * 1000;
}

/** Returns the size of a checkpoint; before the first one is safe, the average size of the waiting ones. */
const checkpointBytesOf = ({ safeBytes, risk }: NodeRow["runs"][number]): number =>
  safeBytes > 0 ? safeBytes : risk.bytes / Math.max(1, risk.checkpoints);
