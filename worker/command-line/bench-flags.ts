import type { FlagSpec } from "./flag-spec.ts";

/** Flags of `tidemark bench`, which compares engines; part of `FLAGS`. */
export const BENCH_FLAGS = {
  engines: {
    kind: "text",
    commands: ["bench"],
    value: "NAMES",
    default: "all",
    says: "Engines to compare: all on this machine, or names separated by commas (tidemark, tidemark-auto, sdk, rclone, rclone-tuned, boto3, crt, aws-cli, s5cmd, aria2, uplink).",
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
    says: "Size, part size and connections of a known setting: the SaladCloud guide (300 MB, 10 MB, 10), or Storj's documents for its S3 gateway (parts of 64 MiB). --size, --part-size and --concurrency take precedence.",
  },
  size: { kind: "size", commands: ["bench"], value: "SIZE", says: "Number of random bytes that each case moves." },
  rounds: {
    kind: "count",
    commands: ["bench"],
    value: "N",
    default: "1",
    says: "Number of rounds of each engine in each direction.",
  },
  seed: {
    kind: "number",
    commands: ["bench"],
    value: "N",
    says: "Seed of the order of the cases. Default: a random one, which is printed.",
  },
  "time-limit": {
    kind: "duration",
    commands: ["bench"],
    value: "TIME",
    default: "5m",
    notZero: "nothing is done in no time",
    says: "Time limit of a case; a longer one fails.",
  },
  "memory-limit": {
    kind: "size",
    commands: ["bench"],
    value: "SIZE",
    default: "4GiB",
    notZero: "nothing runs without memory",
    says: "Memory limit of a case, checked five times a second on Linux; a larger one fails.",
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
