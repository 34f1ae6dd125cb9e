import type { FlagSpec } from "./flag-spec.ts";

/** Commands that measure the link to the store. */
const PROBING = ["probe", "agent", "run"] as const;

/** Flags about measuring the link; part of `FLAGS`. */
export const PROBE_FLAGS = {
  "min-up": {
    kind: "rate",
    commands: PROBING,
    value: "RATE",
    says: "Minimum upload rate of the link, for example 20Mbit (recommended) or 2.5MB/s. The worker measures the link before it restores anything, and leaves a slower machine. Default: no minimum.",
  },
  "min-down": {
    kind: "rate",
    commands: PROBING,
    value: "RATE",
    says: "Minimum download rate of the link, for example 50Mbit (recommended). See --min-up.",
  },
  "max-rtt": {
    kind: "duration",
    commands: PROBING,
    value: "TIME",
    says: "Maximum round trip to the store, for example 150ms. See --min-up. The hub may set thresholds that no flag sets.",
  },
  attempts: {
    kind: "count",
    commands: PROBING,
    value: "N",
    default: "3",
    says: "Number of measurements in all when a result is too slow or missing; the best one counts.",
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
