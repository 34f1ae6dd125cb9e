import type { FlagSpec } from "./flag-spec.ts";

/** Commands that measure the link to the store. */
const PROBING = ["probe", "agent", "run"] as const;

/** Flags about measuring the link; part of `FLAGS`. */
export const PROBE_FLAGS = {
  "min-up": {
    kind: "rate",
    commands: PROBING,
    value: "RATE",
    says: "The least the link must do up, for example 20Mbit (recommended) or 2.5MB/s; not asked for when left out. A worker measures it before it restores anything, and leaves a machine that is slower.",
  },
  "min-down": {
    kind: "rate",
    commands: PROBING,
    value: "RATE",
    says: "The least the link must do down, for example 50Mbit (recommended), like --min-up.",
  },
  "max-rtt": {
    kind: "duration",
    commands: PROBING,
    value: "TIME",
    says: "The longest round trip to the store, for example 150ms, like --min-up. What no flag says, the hub may ask for.",
  },
  attempts: {
    kind: "count",
    commands: PROBING,
    value: "N",
    default: "3",
    says: "Measure again what was too slow or could not be measured, so often in all; the best counts.",
  },
  "probe-time": {
    kind: "duration",
    commands: PROBING,
    value: "TIME",
    default: "10s",
    notZero: "a link shows nothing in no time",
    says: "How long each direction is measured.",
  },
} as const satisfies Record<string, FlagSpec>;
