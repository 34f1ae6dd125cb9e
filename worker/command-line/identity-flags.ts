import type { FlagSpec } from "./flag-spec.ts";

/** The rows of the one table of flags that are about who this node is. */
export const IDENTITY_FLAGS = {
  "salad-identity": {
    kind: "switch",
    commands: ["agent", "run", "save"],
    says: "Join with the identity that SaladCloud gives this container instead of a join token; the hub has to know its organization and container group.",
  },
} as const satisfies Record<string, FlagSpec>;
