import { JOINING } from "./command-groups.ts";
import type { FlagSpec } from "./flag-spec.ts";

/** Flags about how this node proves its identity to the hub; part of `FLAGS`. */
export const IDENTITY_FLAGS = {
  "salad-identity": {
    kind: "switch",
    commands: [...JOINING, "save"],
    says: "Join with the identity that SaladCloud gives this container instead of a join token; the hub has to know its organization and container group.",
  },
} as const satisfies Record<string, FlagSpec>;
