import { WITH_KEYS } from "./command-groups.ts";
import type { FlagSpec } from "./flag-spec.ts";

/** Flags about the source of keys and the form of addresses; part of `FLAGS`. */
export const KEY_FLAGS = {
  profile: {
    kind: "text",
    commands: WITH_KEYS,
    value: "NAME",
    alsoEnv: ["AWS_PROFILE", "AWS_DEFAULT_PROFILE"],
    says: "Profile of ~/.aws/config and ~/.aws/credentials: its keys (also of a role, an SSO session or a credential_process), region and endpoint. bench without an address, on a node that has joined a hub: compare at this bucket profile of the hub (its name or id); the hub signs, lends other tools the profile's benchmark key where an admin gave one, tidies up, and keeps the result.",
  },
  addressing: {
    kind: "text",
    commands: WITH_KEYS,
    value: "WAY",
    default: "auto",
    words: ["auto", "path", "virtual-host"],
    says: "Where the bucket stands in an address: in the path, or before the host. auto: as the provider has it, and as the store asks for.",
  },
} as const satisfies Record<string, FlagSpec>;
