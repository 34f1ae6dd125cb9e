import { WORKING } from "./command-groups.ts";
import type { FlagSpec } from "./flag-spec.ts";

/** The rows of the one table of flags that are about telling people and monitoring systems. */
export const NOTIFY_FLAGS = {
  notify: {
    kind: "secret",
    commands: WORKING,
    value: "URL",
    says: "Send a message to this address when a checkpoint is not safe for --notify-after, when the program fails, and when a restore is done: a webhook of Slack or Discord, a topic of ntfy, or any webhook. Write slack:URL, discord:URL, ntfy:URL or webhook:URL if the host does not show the kind. With a hub, its alerts do this for all nodes.",
  },
  "notify-key": {
    kind: "secret",
    commands: WORKING,
    value: "KEY",
    says: "With --notify: signs a webhook as standardwebhooks.com says, or is the token of an ntfy server.",
  },
  "notify-after": {
    kind: "duration",
    commands: WORKING,
    value: "TIME",
    default: "30m",
    notZero: "every checkpoint needs some time to become safe",
    says: "With --notify: how long a checkpoint may be unsafe before a message is sent.",
  },
  "metrics-file": {
    kind: "text",
    commands: WORKING,
    value: "FILE",
    says: "Write what GET /metrics of the local API answers to this file every five seconds, for the textfile collector of a node exporter; its name ends in .prom there.",
  },
} as const satisfies Record<string, FlagSpec>;
