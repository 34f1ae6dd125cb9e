import type { FlagSpec } from "./flag-spec.ts";

/** Flags of `tidemark bench`, which compares engines; part of `FLAGS`. */
export const BENCH_FLAGS = {
  engines: {
    kind: "text",
    commands: ["bench"],
    value: "NAMES",
    default: "all",
    says: "What is compared: all that are on this machine, or names with commas between them (tidemark, tidemark-auto, sdk, rclone, rclone-tuned, boto3, crt, aws-cli, s5cmd, aria2, uplink).",
  },
  directions: {
    kind: "text",
    commands: ["bench"],
    value: "WAYS",
    default: "both",
    words: ["up", "down", "both"],
    says: "up, down or both.",
  },
  preset: {
    kind: "text",
    commands: ["bench"],
    value: "NAME",
    default: "guide",
    // Copied from protocol/benchmarks/presets.ts to keep that module out of every start; a test compares both lists.
    words: [
      "guide",
      "storj-1gb",
      "storj-1.5gb",
      "storj-3gb",
      "storj-6gb",
      "storj-10gb-quarter",
      "storj-10gb-half",
      "storj-10gb-full",
    ],
    says: "Size, part size and connections that are known to do well: of the SaladCloud guide (300 MB, 10 MB, 10), or of Storj's documents for its S3 gateway (parts of 64 MiB). --size, --part-size and --concurrency win over it.",
  },
  size: { kind: "size", commands: ["bench"], value: "SIZE", says: "How much each case moves: random bytes." },
  rounds: {
    kind: "count",
    commands: ["bench"],
    value: "N",
    default: "1",
    says: "How often each engine takes its turn in each direction.",
  },
  seed: {
    kind: "number",
    commands: ["bench"],
    value: "N",
    says: "Decides the order of the cases; drawn and said when left out.",
  },
  "time-limit": {
    kind: "duration",
    commands: ["bench"],
    value: "TIME",
    default: "5m",
    notZero: "nothing is done in no time",
    says: "What takes longer is ended and has failed.",
  },
  "memory-limit": {
    kind: "size",
    commands: ["bench"],
    value: "SIZE",
    default: "4GiB",
    notZero: "nothing runs without memory",
    says: "What takes more is ended and has failed (on Linux, looked at five times a second).",
  },
  scratch: {
    kind: "text",
    commands: ["bench"],
    value: "DIR",
    says: "Folder with room for twice the size; the system's temporary one when left out.",
  },
  "access-grant": {
    kind: "secret",
    commands: ["bench"],
    value: "GRANT",
    alsoEnv: ["UPLINK_ACCESS"],
    says: "Storj's access grant for the same bucket, which its own program uplink needs.",
  },
} as const satisfies Record<string, FlagSpec>;
