import { WITH_KEYS, WORKING } from "./command-groups.ts";
import type { FlagSpec } from "./flag-spec.ts";

/** Flags about the source of the store's keys, the form of addresses, and the key that encrypts; part of `FLAGS`. */
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
    says: "Where an address has the bucket: in the path, or in front of the host. auto: the provider's default, or the other way if the store requires it.",
  },
  "encrypt-key": {
    kind: "text",
    commands: [...WORKING, "save", "restore", "compare", "inspect"],
    value: "FILE",
    says: "With --to: encrypt checkpoints before they leave this machine, and decrypt those that are restored, with the key in this file (`tidemark keygen FILE` makes one). Further lines of it are earlier keys, which only decrypt. Only its owner may have rights to the file. With a hub its bucket profile says whether checkpoints are encrypted.",
  },
  "encrypt-names": {
    kind: "switch",
    commands: [...WORKING, "save"],
    says: "With --encrypt-key: hide the names of files in the bucket too.",
  },
} as const satisfies Record<string, FlagSpec>;
