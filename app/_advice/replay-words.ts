import type { LinkThresholds } from "#protocol/links/probe.ts";
import type { Fate } from "#protocol/links/replay-thresholds.ts";
import type { FleetThresholds } from "#protocol/links/thresholds.ts";
import type { Tone } from "../_ui/indicators/mark.tsx";

/** Words for a replay, which applies other thresholds to stored probes. */

interface FateWords {
  label: string;
  tone: Tone;
  group: FateGroup;
}
export type FateGroup = "accepted" | "warned" | "rejected" | "away";

export const FATE_WORDS: Readonly<Record<Fate, FateWords>> = {
  accept: { label: "accepted", tone: "safe", group: "accepted" },
  known: { label: "as remembered", tone: "safe", group: "accepted" },
  warn: { label: "with a doubt", tone: "risk", group: "warned" },
  "given-back": { label: "given back", tone: "lost", group: "rejected" },
  budget: { label: "kept: budget used up", tone: "lost", group: "rejected" },
  quorum: { label: "kept: most were too slow", tone: "lost", group: "rejected" },
  cooldown: { label: "kept: given back lately", tone: "lost", group: "rejected" },
  ends: { label: "its worker ends", tone: "lost", group: "rejected" },
  away: { label: "another machine", tone: "quiet", group: "away" },
};

/** Returns `20 Mbps up, 50 Mbps down, a round trip of 150 ms at most`; null when no threshold is set. */
export function thresholdWords(
  { up, down, rttMs }: Pick<LinkThresholds, "up" | "down" | "rttMs">,
  rate: (bytesPerSecond: number) => string,
): string | null {
  const parts = [
    up === null ? null : `${rate(up)} up`,
    down === null ? null : `${rate(down)} down`,
    rttMs === null ? null : `a round trip of ${Math.round(rttMs)} ms at most`,
  ].filter((part) => part !== null);
  return parts.length === 0 ? null : parts.join(", ");
}

export const isSame = (a: LinkThresholds, b: Pick<FleetThresholds, "up" | "down" | "rttMs">): boolean =>
  a.up === b.up && a.down === b.down && a.rttMs === b.rttMs;
