import { randomUUID } from "node:crypto";
import { decide, type Verdict } from "#protocol/links/decide-link.ts";
import { Fault, toFault } from "#protocol/faults/fault.ts";
import { OWN_ENGINE } from "#protocol/wire/measured.ts";
import type { LinkThresholds, ProbeReport } from "#protocol/links/probe.ts";
import { clockOffsetMs, measureClock, type ClockBounds } from "#storage/answers/clock-skew.ts";
import { throwIfAborted, type Clock } from "../base/clock.ts";
import type { Engine } from "../transfer/engine.ts";
import { probeRtt, type RttProbe } from "../limits/rtt-probe.ts";
import type { LinkRate } from "./box.ts";
import { measureDown, measureUp, type Measuring } from "./measure.ts";

/** Input of a probe of the link between this machine and one bucket. */
export interface ProbeParts {
  engines: { up: Engine; down: Engine };
  /** Returns a new unused key at each call. */
  newKey(): string;
  endpoint: string;
  thresholds: LinkThresholds;
  boxMs: number;
  mostAttempts: number;
  clock: Clock;
  signal: AbortSignal;
  /** Replaces the measurements in tests. */
  ways?: ProbeWays;
}

export interface ProbeWays {
  rtt: RttProbe;
  up: typeof measureUp;
  down: typeof measureDown;
}

export type Outcome = { rate: LinkRate } | { fault: Fault };

export interface ProbeResult {
  id: string;
  rttMs: number | null;
  clockSkewMs: number | null;
  up: Outcome;
  down: Outcome;
  verdict: Verdict;
  attempts: number;
  tookMs: number;
}

const REAL_WAYS: ProbeWays = { rtt: probeRtt, up: measureUp, down: measureDown };
const HANDSHAKES = 3;
const BETWEEN_ATTEMPTS_MS = 1_000;

/**
 * Measures a link until it meets the thresholds, at most `mostAttempts` times. A direction that meets its threshold is not
 * measured again. The best rate counts, because other traffic can only make a link look slower. @throws Fault CANCELLED
 */
export async function probeLink(parts: ProbeParts): Promise<ProbeResult> {
  const { clock, signal, thresholds, mostAttempts } = parts;
  const startedAt = clock.now();
  const unknown: Outcome = { fault: new Fault("STALLED", { op: "probe" }) };
  const state: Seen = { up: unknown, down: unknown, clock: null };
  const rttMs = await leastRtt(parts);
  for (let attempts = 1; ; attempts++) {
    await attempt(parts, state);
    throwIfAborted(signal);
    const clockSkewMs = certainSkew(state.clock);
    const { up, down } = state;
    const verdict = decide({ up, down, rttMs, clockSkewMs }, thresholds);
    if (attempts >= mostAttempts || (isEnough(up, thresholds.up) && isEnough(down, thresholds.down))) {
      return { id: randomUUID(), rttMs, clockSkewMs, up, down, verdict, attempts, tookMs: clock.now() - startedAt };
    }
    await clock.sleep(BETWEEN_ATTEMPTS_MS, signal);
  }
}

interface Seen {
  up: Outcome;
  down: Outcome;
  clock: ClockBounds | null;
}

const isEnough = (outcome: Outcome, least: number | null): boolean =>
  "rate" in outcome && (least === null || outcome.rate.bytesPerSecond >= least);

async function attempt(parts: ProbeParts, seen: Seen): Promise<void> {
  const { engines, thresholds, boxMs, signal, ways = REAL_WAYS } = parts;
  const measuring = (): Measuring => ({
    key: parts.newKey(),
    boxMs,
    signal,
    onAnswer: (sample) => {
      seen.clock = measureClock(seen.clock, sample);
    },
  });
  if (!isEnough(seen.up, thresholds.up)) {
    seen.up = better(seen.up, await outcomeOf(() => ways.up(engines.up, measuring())));
  }
  throwIfAborted(signal);
  if (!isEnough(seen.down, thresholds.down)) {
    const upBytesPerSecond = "rate" in seen.up ? seen.up.rate.bytesPerSecond : null;
    const about = { ...measuring(), upBytesPerSecond };
    seen.down = better(seen.down, await outcomeOf(() => ways.down(engines, about)));
  }
}

async function outcomeOf(measure: () => Promise<LinkRate>): Promise<Outcome> {
  try {
    return { rate: await measure() };
  } catch (error) {
    return { fault: toFault(error, { op: "probe" }) };
  }
}

function better(before: Outcome, now: Outcome): Outcome {
  if ("fault" in now) return "rate" in before ? before : now;
  return "rate" in before && before.rate.bytesPerSecond > now.rate.bytesPerSecond ? before : now;
}

async function leastRtt({ endpoint, ways = REAL_WAYS }: ProbeParts): Promise<number | null> {
  let least: number | null = null;
  for (let tries = 0; tries < HANDSHAKES; tries++) {
    const ms = await ways.rtt(endpoint);
    if (ms === null) return least;
    least = Math.min(least ?? Infinity, ms);
  }
  return least;
}

/** Returns the clock skew, or 0 while the clocks may agree: Date headers have whole seconds, and answers are delayed. */
function certainSkew(clock: ClockBounds | null): number | null {
  if (clock === null) return null;
  return clock.leastMs <= 0 && clock.mostMs >= 0 ? 0 : clockOffsetMs(clock);
}

/** Returns the report for the hub. */
export function reportOf(
  result: ProbeResult,
  about: { machineId: string | null; thresholds: LinkThresholds },
): ProbeReport {
  const rateOf = (outcome: Outcome) => ("rate" in outcome ? outcome.rate.bytesPerSecond : null);
  const wayOf = (outcome: Outcome) => {
    if ("fault" in outcome) return null;
    const { rampMs, isSteady, movedBytes, connections } = outcome.rate;
    return { rampMs, isSteady, movedBytes: Math.max(0, Math.round(movedBytes)), connections };
  };
  return {
    id: result.id,
    ...about,
    outcome: result.verdict.outcome,
    reason: result.verdict.reason.slice(0, 1024),
    rttMs: result.rttMs,
    clockSkewMs: result.clockSkewMs,
    up: rateOf(result.up),
    down: rateOf(result.down),
    attempts: result.attempts,
    tookMs: Math.round(result.tookMs),
    manner: { engine: OWN_ENGINE, up: wayOf(result.up), down: wayOf(result.down) },
  };
}
