import { sentenceOf } from "#protocol/faults/fault.ts";
import { formatBytes, formatDuration, formatRate } from "#protocol/base/units.ts";
import type { Outcome, ProbeResult } from "./probe.ts";

/** Returns the findings of a probe as sentences. */
export function probeLines(result: ProbeResult): string[] {
  const { rttMs, clockSkewMs, verdict, up, down } = result;
  const trip = rttMs === null ? "The round trip could not be measured" : `Round trip ${Math.round(rttMs)} ms`;
  return [
    `${trip}; ${clockWords(clockSkewMs)}.`,
    directionWords("Up", up),
    directionWords("Down", down),
    ...(verdict.outcome === "reject" ? [] : [verdictWords(result)]),
  ];
}

export function verdictWords({ verdict }: Pick<ProbeResult, "verdict">): string {
  const words = { accept: "Accepted", warn: "Accepted, with a doubt", reject: "Rejected" }[verdict.outcome];
  return `${words}: ${verdict.reason}.`;
}

function clockWords(skewMs: number | null): string {
  if (skewMs === null) return "the store does not tell the time";
  if (skewMs === 0) return "its clock agrees with the store's";
  const side = skewMs < 0 ? "ahead of" : "behind";
  return `its clock is ${formatDuration(Math.max(1_000, Math.abs(skewMs)))} ${side} the store's`;
}

function directionWords(name: string, outcome: Outcome): string {
  if ("fault" in outcome) return `${name}: ${sentenceOf(outcome.fault.toData())}`;
  const { bytesPerSecond, isSteady, rampMs, movedBytes } = outcome.rate;
  const when = isSteady ? `steady after ${(rampMs / 1000).toFixed(1)} s` : "still changing at the end";
  return `${name} ${formatRate(bytesPerSecond)}, ${when} (${formatBytes(movedBytes)} moved).`;
}

/** Returns the findings for `--json`. */
export function probeFacts(result: ProbeResult): Record<string, unknown> {
  const { verdict, up, down, tookMs, ...rest } = result;
  return { ...rest, ...verdict, up: factsOf(up), down: factsOf(down), tookMs: Math.round(tookMs) };
}

const factsOf = (outcome: Outcome): Record<string, unknown> =>
  "fault" in outcome
    ? { fault: outcome.fault.toData() }
    : { ...outcome.rate, bytesPerSecond: Math.round(outcome.rate.bytesPerSecond) };
