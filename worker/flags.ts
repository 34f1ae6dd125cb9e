/**
 * The one table of everything that can be set. Flags, environment names, help and `tidemark config` are made from it, so
 * none of them can disagree: `--part-size` is `TIDEMARK_PART_SIZE`, always.
 */

export const COMMANDS = {
  agent: {
    usage: "tidemark agent --hub URL --token TOKEN --watch DIR [--watch DIR ...]",
    says: "Keep checkpoints of this machine safe: watch folders, upload, restore when the hub asks.",
  },
  cp: {
    usage: "tidemark cp SRC DST",
    says: "Copy a file or folder to s3://bucket/key or back: parallel, resumable, verified. What is there already is replaced.",
  },
  config: { usage: "tidemark config [agent|cp]", says: "Show every setting, its value and where it comes from." },
  version: { usage: "tidemark version", says: "Show the version." },
  help: { usage: "tidemark help [COMMAND]", says: "Show this, or the help of one command." },
} as const;
export type CommandName = keyof typeof COMMANDS;
export const isCommand = (text: string): text is CommandName => Object.hasOwn(COMMANDS, text);

/** `list` may be given several times (in the environment: separated by `:` for folders, `,` otherwise). */
type FlagKind = "text" | "secret" | "size" | "rate" | "duration" | "count" | "switch" | "list";

export interface FlagSpec {
  kind: FlagKind;
  commands: readonly CommandName[];
  /** Stands for the value in help. */
  value?: string;
  default?: string;
  /** Names that other tools use for the same thing, looked up after our own. */
  alsoEnv?: readonly string[];
  says: string;
}

const BOTH = ["agent", "cp"] as const;

export const FLAGS = {
  hub: { kind: "text", commands: ["agent"], value: "URL", says: "Address of the hub." },
  token: {
    kind: "secret",
    commands: ["agent"],
    value: "TOKEN",
    says: "Join token from the hub; needed once, then the node has a credential of its own.",
  },
  name: { kind: "text", commands: ["agent"], value: "NAME", says: "Name of this node; the host's name when left out." },
  state: {
    kind: "text",
    commands: BOTH,
    value: "DIR",
    says: "Folder for the queue and journals; /var/lib/tidemark, or ~/.tidemark where that cannot be written.",
  },
  watch: {
    kind: "list",
    commands: ["agent"],
    value: "DIR",
    says: "Folder in which checkpoints appear. May be given several times.",
  },
  run: {
    kind: "text",
    commands: ["agent"],
    value: "NAME",
    says: "Run the watched folder belongs to; the folder's name when left out.",
  },
  settle: {
    kind: "duration",
    commands: ["agent"],
    value: "TIME",
    default: "2s",
    says: "A checkpoint is finished when nothing in it changed for this long.",
  },
  label: {
    kind: "list",
    commands: ["agent"],
    value: "KEY=VALUE",
    says: "Free text shown with the node. May be given several times.",
  },
  "limit-up": {
    kind: "rate",
    commands: BOTH,
    value: "RATE",
    default: "0",
    says: "Most bytes per second up, for example 4MB; 0 is no limit.",
  },
  "limit-down": {
    kind: "rate",
    commands: BOTH,
    value: "RATE",
    default: "0",
    says: "Most bytes per second down; 0 is no limit.",
  },
  concurrency: { kind: "count", commands: BOTH, value: "N", default: "8", says: "Parts that move at a time." },
  "part-size": {
    kind: "size",
    commands: BOTH,
    value: "SIZE",
    says: "Size of a part; chosen by store and file size when left out.",
  },
  memory: {
    kind: "size",
    commands: ["agent"],
    value: "SIZE",
    default: "128MiB",
    says: "Most memory for buffers; lowers the number of connections when it does not suffice.",
  },
  "retry-for": {
    kind: "duration",
    commands: BOTH,
    value: "TIME",
    default: "15m",
    says: "Give up when nothing moved for this long (the agent queues it again).",
  },
  "stall-after": {
    kind: "duration",
    commands: BOTH,
    value: "TIME",
    default: "15s",
    says: "A connection on which no byte moved for this long is given up, and its part is tried again.",
  },
  "allow-http": { kind: "switch", commands: ["agent"], says: "Speak to a hub over plain http on a network you trust." },
  endpoint: {
    kind: "text",
    commands: ["cp"],
    value: "URL",
    alsoEnv: ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"],
    says: "Address of the store; Amazon S3 when left out.",
  },
  region: {
    kind: "text",
    commands: ["cp"],
    value: "REGION",
    default: "us-east-1",
    alsoEnv: ["AWS_REGION", "AWS_DEFAULT_REGION"],
    says: "Region of the bucket.",
  },
  "access-key-id": {
    kind: "text",
    commands: ["cp"],
    value: "KEY",
    alsoEnv: ["AWS_ACCESS_KEY_ID"],
    says: "Access key of the store.",
  },
  "secret-access-key": {
    kind: "secret",
    commands: ["cp"],
    value: "KEY",
    alsoEnv: ["AWS_SECRET_ACCESS_KEY"],
    says: "Its secret.",
  },
  "session-token": {
    kind: "secret",
    commands: ["cp"],
    value: "TOKEN",
    alsoEnv: ["AWS_SESSION_TOKEN"],
    says: "Session token of temporary keys.",
  },
  provider: {
    kind: "text",
    commands: ["cp"],
    value: "NAME",
    default: "other",
    says: "Kind of store (aws, r2, b2, storj, minio, ...): sets part sizes and quirks.",
  },
  json: {
    kind: "switch",
    commands: [...BOTH, "config", "version"],
    says: "One JSON object per line instead of sentences.",
  },
  markdown: { kind: "switch", commands: ["help"], says: "Print the reference of all commands and flags as Markdown." },
  help: { kind: "switch", commands: [...BOTH, "config", "version", "help"], says: "Show help." },
} as const satisfies Record<string, FlagSpec>;
export type FlagName = keyof typeof FLAGS;

export const flagEntries = Object.entries(FLAGS) as [FlagName, FlagSpec][];
export const envName = (flag: string): string => `TIDEMARK_${flag.toUpperCase().replaceAll("-", "_")}`;
export const flagsOf = (command: CommandName): [FlagName, FlagSpec][] =>
  flagEntries.filter(([, spec]) => spec.commands.includes(command));
