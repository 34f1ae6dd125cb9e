import type { FlagSpec } from "./flag-spec.ts";

/** Flags of `tidemark limit`, which sets the bandwidth limits of a machine; part of `FLAGS`. */
export const LIMIT_FLAGS = {
  up: {
    kind: "limit",
    commands: ["limit"],
    value: "LIMIT",
    says: "Set the limit up, as in --limit-up; off is no limit.",
  },
  down: { kind: "limit", commands: ["limit"], value: "LIMIT", says: "Set the limit down, as in --limit-up." },
  reset: {
    kind: "switch",
    commands: ["limit"],
    says: "Remove the set limits: workers use the limits of their start again.",
  },
} as const satisfies Record<string, FlagSpec>;
