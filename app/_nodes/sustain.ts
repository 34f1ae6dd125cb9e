import { isHeard } from "#protocol/fleet/node-status.ts";
import { formatDuration, formatRate, type RateUnit } from "#protocol/base/units.ts";
import type { NodeRow } from "#protocol/wire/views.ts";
import { formatBytes } from "../_ui/text/sizes.ts";

/**
 * Whether a node's uplink can keep up with how often it saves. The node says itself what it sustains, from its
 * uploads or what it knows of its link, and then it is said before work piles up. Of a node that does not say it, it is the size of a checkpoint over the
 * rate measured while it uploaded, and is said only when work piles up already: never from one slow moment.
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

/** The first run of the node that saves more often than its uplink allows, and how often that allows it; or null. */
export function tooSlowFor(node: Uplink): { run: NodeRow["runs"][number]; everyMs: number; neededMs: number } | null {
  if (!isHeard(node.state)) return null;
  for (const run of node.runs) {
    if (!run.isWriter || run.intervalMs === null || run.intervalMs === 0 || checkpointBytesOf(run) === 0) continue;
    const neededMs = run.leastIntervalMs ?? neededFor(node, run);
    if (neededMs !== null && neededMs > run.intervalMs) return { run, everyMs: run.intervalMs, neededMs };
  }
  return null;
}

/** The same in words. */
export function cannotSustain(node: Uplink, unit: RateUnit): CannotSustain | null {
  const found = tooSlowFor(node);
  if (found === null) return null;
  const { run, everyMs, neededMs } = found;
  const bytes = checkpointBytesOf(run);
  const rate = (bytes / neededMs) * 1000;
  const advised = Math.ceil(neededMs / STEP_MS) * STEP_MS;
  const { checkpoints } = run.risk;
  const waiting = checkpoints > 1 ? `${checkpoints} are waiting` : "older ones will be passed over";
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

/** Before the first one is safe: of the size of those that wait. */
const checkpointBytesOf = ({ safeBytes, risk }: NodeRow["runs"][number]): number =>
  safeBytes > 0 ? safeBytes : risk.bytes / Math.max(1, risk.checkpoints);
