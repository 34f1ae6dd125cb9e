import { PROVIDERS } from "#protocol/base/provider-names.ts";
import { JOINING, KEYED, READS_BUCKET, STANDALONE, STORE, WITH_KEYS, WORKING } from "./command-groups.ts";
import type { CommandName } from "./commands.ts";
import type { FlagSpec } from "./flag-spec.ts";
import { JOB_FLAGS } from "./job-flags.ts";
import { LIMIT_FLAGS } from "./limit-flags.ts";
import { RESTORE_FLAGS } from "./restore-flags.ts";
import { RUN_FLAGS } from "./run-flags.ts";
import { CAPTURE_FLAGS } from "./capture-flags.ts";
import { NETWORK_FLAGS } from "./network-flags.ts";
import { KEY_FLAGS } from "./key-flags.ts";
import { PROBE_FLAGS } from "./probe-flags.ts";
import { NOTIFY_FLAGS } from "./notify-flags.ts";
import { BENCH_FLAGS } from "./bench-flags.ts";

/**
 * The single table of settings. Flags, environment variables, help and `tidemark config` are all made from the table, so
 * they cannot disagree: `--part-size` is always `TIDEMARK_PART_SIZE`.
 */

/** Commands that copy plain objects. */
const COPYING = ["cp", "sync"] as const;
/** Commands that ask the worker of this machine. */
const ASKING = ["save", "restore", "status", "pause", "resume", "retry", "cancel"] as const;
const MOVING = [...JOINING, ...COPYING] as const;
const READING = [...MOVING, "check", "cat", "restore"] as const;
const FILTERED = [...COPYING, "check", "ls", "rm"] as const;

export const FLAGS = {
  hub: {
    kind: "text",
    commands: [...JOINING, "save", "doctor", "jobs"],
    value: "URL",
    says: "Address of the hub.",
  },
  to: {
    kind: "text",
    commands: [...STANDALONE, ...READS_BUCKET, "inspect"],
    value: "PLACE",
    says: "Without a hub: the bucket and prefix where checkpoints lie, s3://bucket/prefix or rclone:REMOTE:bucket/prefix, with keys as cp finds them.",
  },
  keep: {
    kind: "text",
    commands: [...WORKING],
    value: "RULES",
    says: "With --to: after each commit, remove checkpoints that no rule keeps: last=3,every=1000,best=eval_loss:min; also every=6h, most=500GB, trash=3d (how long `tidemark restore RUN@STEP` still finds them; a day when left out). Never the newest, nor one that a hub pinned or tagged. When left out nothing is removed.",
  },
  token: {
    kind: "secret",
    commands: [...JOINING, "save", "doctor"],
    value: "TOKEN",
    says: "Join token from the hub; needed once, then the node has a credential of its own.",
  },
  "salad-identity": {
    kind: "switch",
    commands: [...JOINING, "save"],
    says: "Join with the identity that SaladCloud gives this container instead of a join token; the hub has to know its organization and container group.",
  },
  ...RESTORE_FLAGS,
  name: {
    kind: "text",
    commands: [...JOINING, "save"],
    value: "NAME",
    says: "Name of this node; the host's name when left out.",
  },
  state: {
    kind: "text",
    commands: [...MOVING, ...ASKING, "limit", "probe", "bench", "doctor"],
    value: "DIR",
    says: "Folder for the queue and journals; /var/lib/tidemark, or ~/.tidemark where that cannot be written. Where neither can, agent and run use .tidemark-state beside the watched folder, and commands that copy a folder in TMPDIR.",
  },
  watch: {
    kind: "list",
    commands: [...WORKING, "doctor", "jobs"],
    value: "DIR",
    defaultOfRun: ".",
    says: "Folder in which checkpoints appear. Without it run watches the working folder and takes only what the program writes there, not its data, datasets, cache, env, venv and restored. May be given several times. In TIDEMARK_WATCH a colon is between folders; one that belongs to a path is written \\:, and a relative folder after a colon begins with ./ unless it is there.",
  },
  run: {
    kind: "list",
    commands: [...WORKING, "save", "jobs"],
    value: "NAME",
    says: "Run the watched folder (or the saved checkpoint) belongs to; the folder's name when left out. May be given several times, for several watched folders in their order.",
  },
  step: {
    kind: "number",
    commands: ["save"],
    value: "N",
    says: "Training step of the checkpoint; read from its name when left out.",
  },
  priority: {
    kind: "text",
    commands: ["save"],
    value: "low|normal|high",
    default: "normal",
    words: ["low", "normal", "high"],
    says: "Which of those that wait goes first.",
  },
  all: {
    kind: "switch",
    commands: ["cancel"],
    says: "Instead of a run: all uploads of this machine that are not safe yet.",
  },
  live: {
    kind: "switch",
    commands: ["status"],
    alias: "watch",
    onlyFlag: true,
    says: "Draw the status again every second until Ctrl-C, with each transfer; with --json one object a second. --watch is the same.",
  },
  "no-wait": {
    kind: "switch",
    commands: ["save"],
    says: "End when the checkpoint is captured, without waiting until it is safe.",
  },
  "local-port": {
    kind: "number",
    commands: JOINING,
    value: "PORT",
    says: "Also serve the local API on 127.0.0.1:PORT (0: any free port), for programs that cannot open the unix socket local.sock in the state folder. Its token is in local.token beside the socket.",
  },
  pattern: {
    kind: "list",
    commands: [...WORKING, "doctor"],
    value: "GLOB",
    says: "Glob of checkpoint names in the watched folders and below, for example `ckpt-*`. The step is `step=N` or the last number of the name; without one it is the time of writing. May be given several times. Default: the names and formats of common frameworks (checkpoint-500, step_500, epoch=1-step=500.ckpt, ckpt.pt, ...).",
  },
  ...CAPTURE_FLAGS,
  grace: {
    kind: "duration",
    commands: JOINING,
    value: "TIME",
    default: "8s",
    notZero: "0 would leave no time to say what is not safe",
    says: "After SIGTERM, continue to upload what can be safe soonest, and end within this time. Keep it below the time that the platform gives.",
  },
  ...RUN_FLAGS,
  ...JOB_FLAGS,
  ...NOTIFY_FLAGS,
  label: {
    kind: "list",
    commands: [...JOINING, "jobs"],
    value: "KEY=VALUE",
    says: "Free text shown with the node, or with the submitted job; with `jobs list`, `cancel` and `retry` the one that jobs have. May be given several times.",
  },
  "limit-up": {
    kind: "limit",
    commands: MOVING,
    value: "LIMIT",
    default: "0",
    says: "Most bytes per second up: 4MB, or by time of day 08:00-18:00=2MB,18:00-23:00=5MB,off (also 08:00,2M 18:00,5M 23:00,off). 0 is no limit.",
  },
  "limit-down": {
    kind: "limit",
    commands: READING,
    value: "LIMIT",
    default: "0",
    says: "Most bytes per second down, like --limit-up.",
  },
  "time-zone": {
    kind: "text",
    commands: READING,
    value: "ZONE",
    says: "Time zone of the times in limits, for example Europe/Berlin; the machine's when left out.",
  },
  household: {
    kind: "share",
    commands: READING,
    value: "[SHARE]",
    says: "Give priority to other users of the link: slow down as soon as their connections would have to wait. With a share, for example 20%, always leave that share free.",
  },
  ...LIMIT_FLAGS,
  ...NETWORK_FLAGS,
  ...KEY_FLAGS,
  ...PROBE_FLAGS,
  ...BENCH_FLAGS,
  concurrency: {
    kind: "count",
    commands: [...READING, "rm", "bench"],
    value: "N",
    says: "Number of concurrent transfer requests. Default: found by measurement, up to 96.",
  },
  "part-size": {
    kind: "size",
    commands: [...MOVING, "bench"],
    value: "SIZE",
    says: "Size of a part; chosen by store and file size when left out.",
  },
  memory: {
    kind: "size",
    commands: READING,
    value: "SIZE",
    default: "128MiB",
    least: { bytes: 32e6, why: "at least 32M: the program itself needs more than less would save" },
    says: "Most memory for buffers, at least 32M. A connection takes 64 KiB to 1 MiB for any part size. The whole program stays within this plus 80 MB.",
  },
  "retry-for": {
    kind: "duration",
    commands: [...STANDALONE, "work", ...STORE, "bench", ...READS_BUCKET],
    value: "TIME",
    default: "15m",
    says: "Time without progress after which a transfer fails (the agent queues it again).",
  },
  "stall-after": {
    kind: "duration",
    commands: [...STANDALONE, "work", ...STORE, "probe", "bench", ...READS_BUCKET],
    value: "TIME",
    default: "15s",
    notZero: "a time above 0, or every connection would be given up at once",
    says: "Time without a byte after which a connection is closed and its part is repeated.",
  },
  "allow-http": {
    kind: "switch",
    commands: [...JOINING, "jobs", "save", "probe", "bench", "doctor"],
    says: "Allow a hub over plain http, on a network you trust.",
  },
  endpoint: {
    kind: "text",
    commands: WITH_KEYS,
    value: "URL",
    alsoEnv: ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"],
    says: "Address of the store; Amazon S3 when left out.",
  },
  region: {
    kind: "text",
    commands: WITH_KEYS,
    value: "REGION",
    alsoEnv: ["AWS_REGION", "AWS_DEFAULT_REGION"],
    says: "Region of the bucket; by the store's address when left out.",
  },
  "access-key-id": {
    kind: "text",
    commands: WITH_KEYS,
    value: "KEY",
    alsoEnv: ["AWS_ACCESS_KEY_ID"],
    says: "Access key of the store.",
  },
  "secret-access-key": {
    kind: "secret",
    commands: WITH_KEYS,
    value: "KEY",
    alsoEnv: ["AWS_SECRET_ACCESS_KEY"],
    says: "Secret of the access key.",
  },
  "session-token": {
    kind: "secret",
    commands: WITH_KEYS,
    value: "TOKEN",
    alsoEnv: ["AWS_SESSION_TOKEN"],
    says: "Session token of temporary keys.",
  },
  provider: {
    kind: "text",
    commands: WITH_KEYS,
    value: "NAME",
    default: "auto",
    words: ["auto", ...PROVIDERS],
    says: "Provider of the store (aws, r2, b2, storj, minio, ...), which decides part sizes and deviations from S3. auto: detected by the address; an unknown store is probed.",
  },
  recursive: {
    kind: "switch",
    commands: ["ls", "rm"],
    short: "r",
    says: "Include all levels below, not only the first.",
  },
  "dry-run": {
    kind: "switch",
    commands: [...COPYING, "rm", "restore", "run", "jobs"],
    short: "n",
    says: "Show what would be done, and do nothing.",
  },
  delete: {
    kind: "switch",
    commands: ["sync"],
    says: "Remove from DST what SRC does not have. Names that the filters skip stay. So does everything below a folder of SRC that was not read (linked, not readable, empty).",
  },
  "max-delete": {
    kind: "number",
    commands: ["sync"],
    value: "N",
    says: "With --delete: remove nothing if it would be more than N files.",
  },
  "delete-all": {
    kind: "switch",
    commands: ["sync"],
    says: "With --delete: accept an empty SRC, so that DST and its empty folders are emptied.",
  },
  checksum: {
    kind: "switch",
    commands: COPYING,
    says: "Compare fetched objects above 64 MiB by their MD5 too, where the store keeps no CRC32 of them; with sync also the contents of all files of the same size, whatever their dates say.",
  },
  "size-only": {
    kind: "switch",
    commands: ["sync", "check"],
    says: "Treat files of the same size as equal, without reading them.",
  },
  "unsteady-times": {
    kind: "switch",
    commands: [...COPYING, "check", ...JOINING],
    says: "On network disks (NFS, SMB, FUSE) treat file times that differ by up to 2 s as equal. Default: only after such a disk has set a time back.",
  },
  download: {
    kind: "switch",
    commands: ["check"],
    says: "Fetch the objects and compare every byte.",
  },
  include: {
    kind: "rules",
    commands: FILTERED,
    value: "GLOB",
    says: "Take names that match. If it is the first filter, all other names are skipped. The first --include or --exclude that matches decides, in the given order. `*.bin` matches a name at any depth, `/logs/*` from the top, `**` any depth.",
  },
  exclude: {
    kind: "rules",
    commands: FILTERED,
    value: "GLOB",
    says: "Skip names that match; see --include.",
  },
  "min-size": { kind: "size", commands: FILTERED, value: "SIZE", says: "Skip smaller files." },
  "max-size": { kind: "size", commands: FILTERED, value: "SIZE", says: "Skip larger files." },
  "min-age": { kind: "duration", commands: FILTERED, value: "TIME", says: "Skip files that changed more recently." },
  "max-age": { kind: "duration", commands: FILTERED, value: "TIME", says: "Skip files that changed longer ago." },
  offset: { kind: "size", commands: ["cat"], value: "SIZE", default: "0", says: "Skip this many bytes." },
  count: { kind: "size", commands: ["cat"], value: "SIZE", says: "Stop after this many bytes." },
  expires: {
    kind: "duration",
    commands: ["presign"],
    value: "TIME",
    default: "1h",
    says: "How long the URL works; at most 7d.",
  },
  method: {
    kind: "text",
    commands: ["presign"],
    value: "GET|PUT",
    default: "GET",
    words: ["GET", "PUT"],
    says: "What the URL may be used for.",
  },
  json: {
    kind: "switch",
    commands: [...JOINING, "jobs", ...ASKING, ...KEYED, ...READS_BUCKET, "limit", "config", "version"],
    says: "One JSON object per line instead of sentences.",
  },
  markdown: {
    kind: "switch",
    commands: ["help"],
    onlyFlag: true,
    says: "Print the reference of all commands and flags as Markdown.",
  },
  help: {
    kind: "switch",
    commands: [
      ...JOINING,
      "jobs",
      ...ASKING,
      ...KEYED,
      ...READS_BUCKET,
      "limit",
      "config",
      "completion",
      "version",
      "help",
    ],
    onlyFlag: true,
    says: "Show help.",
  },
} as const satisfies Record<string, FlagSpec>;
export type FlagName = keyof typeof FLAGS;

export const flagEntries = Object.entries(FLAGS) as [FlagName, FlagSpec][];
export const envName = (flag: string): string => `TIDEMARK_${flag.toUpperCase().replaceAll("-", "_")}`;
/** Returns the environment variables of a flag; the first that is set wins. */
export const variablesOf = (name: string, spec: FlagSpec): readonly string[] =>
  spec.onlyFlag === true ? [] : [envName(name), ...(spec.alsoEnv ?? [])];
export const flagsOf = (command: CommandName): [FlagName, FlagSpec][] =>
  flagEntries.filter(([, spec]) => spec.commands.includes(command));

/**
 * Returns the flags whose values are read. agent, run and save read keys and addresses of a store only with `--to`. With a
 * hub, variables such as AWS_REGION belong to the training program, and a bad value must not end the worker.
 */
export function flagsRead(
  command: CommandName,
  { flags, env }: { flags: ReadonlyMap<FlagName, string[]>; env: Readonly<Record<string, string | undefined>> },
): [FlagName, FlagSpec][] {
  const isAlone = STANDALONE.every((one) => one !== command) || flags.has("to") || (env[envName("to")] ?? "") !== "";
  return flagsOf(command).filter(([name, { commands }]) => isAlone || flags.has(name) || commands !== WITH_KEYS);
}
