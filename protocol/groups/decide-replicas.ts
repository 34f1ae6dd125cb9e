import { formatDuration } from "../base/units.ts";

/**
 * Decides how many instances a group has, from the jobs of its queue. A group grows at once. It shrinks after the cooldown,
 * never below the instances that hold a lease or have something that is not safe.
 */

export interface ScalingLimits {
  min: number;
  max: number;
  /** A job that ended keeps its instance for so long. */
  idleMs: number;
  /** So long fewer instances have to be enough before there are fewer. */
  cooldownMs: number;
}

export interface ScalingFacts {
  limits: ScalingLimits;
  /** Jobs of the queue that wait. */
  waiting: number;
  isQueuePaused: boolean;
  /** Jobs of the queue that are leased. A dead node holds no lease. */
  leased: number;
  /** Jobs of the queue that ended within the idle time. */
  endedLately: number;
  /** Instances that hold a lease or have something that is not safe, and of these the latter. */
  busy: number;
  unsafe: number;
  /** The present number of instances that the provider keeps; 0 for a stopped group. */
  replicas: number;
  isStopped: boolean;
  /** Epoch ms since which fewer instances are enough; null: they are not. */
  lowerSince: number | null;
  now: number;
}

export type ScalingAction = "keep" | "grow" | "shrink" | "start" | "stop";

export interface ScalingDecision {
  action: ScalingAction;
  /** The number of instances after the action. */
  replicas: number;
  /** One sentence. */
  reason: string;
  /** To be stored, and to be passed to the next decision. */
  lowerSince: number | null;
}

const clamp = (value: number, { min, max }: ScalingLimits): number => Math.min(max, Math.max(min, value));
const countOf = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`;

/** Describes the jobs that are counted: `3 jobs wait, 1 runs and 2 ended lately`. */
function demandWords({ waiting, leased, endedLately, isQueuePaused }: ScalingFacts): string {
  if (isQueuePaused) return `its queue is paused, and ${countOf(leased, "job runs", "jobs run")}`;
  if (waiting + leased + endedLately === 0) return "no job waits or runs";
  const lately = endedLately === 0 ? "" : ` and ${endedLately} ended lately`;
  const comma = lately === "" ? " and" : ",";
  return `${countOf(waiting, "job waits", "jobs wait")}${comma} ${leased} ${leased === 1 ? "runs" : "run"}${lately}`;
}

/** Describes the bound that changed the number; empty when none did. */
function boundWords(demand: number, wanted: number, { min, max }: ScalingLimits): string {
  if (wanted > demand) return `, at least ${min} by its rule`;
  return wanted < demand ? `, at most ${max} by its rule` : "";
}

/** Describes the instances below whose number no group gets. */
const busyWords = ({ busy, unsafe }: ScalingFacts): string =>
  unsafe === 0
    ? `${countOf(busy, "instance works", "instances work")} on jobs`
    : `${countOf(unsafe, "instance has", "instances have")} something that is not safe`;

/** Returns the number of instances that a group should have now. Pure. */
export function decideReplicas(facts: ScalingFacts): ScalingDecision {
  const { limits, waiting, leased, endedLately, busy, replicas, isStopped, now } = facts;
  const demand = (facts.isQueuePaused ? 0 : waiting) + leased + endedLately;
  const wanted = clamp(demand, limits);
  const target = Math.max(wanted, busy);
  const why = demandWords(facts) + boundWords(demand, wanted, limits);
  const keep = (reason: string, lowerSince: number | null): ScalingDecision => ({
    action: "keep",
    replicas,
    reason,
    lowerSince,
  });
  if (isStopped) {
    if (target === 0) return keep(`Stays stopped: ${why}.`, null);
    return { action: "start", replicas: target, reason: `Started with ${target}: ${why}.`, lowerSince: null };
  }
  if (target > replicas) {
    const reason = `Grew from ${replicas} to ${target}: ${wanted < busy ? busyWords(facts) : why}.`;
    return { action: "grow", replicas: target, reason, lowerSince: null };
  }
  // A group that runs without instances costs nothing and is stopped anyway, as its rule says.
  if (target === replicas && target > 0) {
    return keep(wanted < busy ? `Keeps ${replicas}: ${busyWords(facts)}.` : `Keeps ${replicas}: ${why}.`, null);
  }
  // A clock that was set back must not keep a group large for ever.
  const since = facts.lowerSince === null || facts.lowerSince > now ? now : facts.lowerSince;
  const leftMs = since + limits.cooldownMs - now;
  if (leftMs > 0) {
    return keep(`Keeps ${replicas} for another ${formatDuration(leftMs)} although ${target} would do: ${why}.`, since);
  }
  if (target === 0) return { action: "stop", replicas: 0, reason: `Stopped: ${why}.`, lowerSince: null };
  const reason = `Shrank from ${replicas} to ${target}: ${wanted < busy ? busyWords(facts) : why}.`;
  return { action: "shrink", replicas: target, reason, lowerSince: null };
}
