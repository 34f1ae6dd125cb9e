import type { FlagSpec } from "./flag-spec.ts";

/** The rows of the one table of flags that set the limits of a machine. */
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
    says: "Take back what was set: workers keep to the limits they were started with.",
  },
} as const satisfies Record<string, FlagSpec>;
