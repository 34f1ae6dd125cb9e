/** The table of the hub's own commands: help texts and the parser are made from it. */

interface OptionSpec {
  /** Placeholder of the value in the help text; null for a switch. */
  value: string | null;
  says: string;
}

interface HubCommandSpec {
  usage: string;
  says: string;
  more?: string;
  options: readonly OptionName[];
  operands: { least: number; most: number };
}

export const OPTIONS = {
  data: { value: "FOLDER", says: "Data folder of the hub (TIDEMARK_DATA, otherwise ./data)." },
  json: { value: null, says: "Write the result as one JSON object." },
  help: { value: null, says: "Show this." },
  to: {
    value: "PLACE",
    says: "Folder for the backup (TIDEMARK_BACKUP_TO, otherwise backups/ in the data folder). Of move: postgres://user@host:5432/database, or a data folder (TIDEMARK_MOVE_TO).",
  },
  keep: { value: "N", says: "Keep the newest N backups of that folder and remove older ones. All, unless given." },
  gzip: { value: null, says: "Compress it." },
  delete: { value: null, says: "Remove what was found. Without it nothing is removed." },
  profile: { value: "NAME", says: "A bucket profile that the database has." },
  name: { value: "NAME", says: "Name of a bucket profile to make." },
  provider: { value: "NAME", says: "aws, r2, b2, storj, minio, ... or other." },
  endpoint: { value: "URL", says: "Address of the store." },
  bucket: { value: "NAME", says: "The bucket." },
  region: { value: "NAME", says: "Its region. us-east-1 unless given." },
  prefix: { value: "PREFIX", says: "What the hub's keys begin with; ends with '/'. Nothing unless given." },
  addressing: { value: "path|virtual-host", says: "How the bucket is addressed. path unless given." },
  role: { value: "ROLE", says: "viewer, operator or admin." },
  stdin: { value: null, says: "Read the password from stdin, one line, instead of making one up." },
} as const satisfies Record<string, OptionSpec>;
export type OptionName = keyof typeof OPTIONS;

export const HUB_COMMANDS = {
  backup: {
    usage: "hub backup [--to FOLDER] [--keep N] [--gzip]",
    says: "Copy the hub's database to one checked file. The hub may be running.",
    more: "The master key is never in it: keep TIDEMARK_SECRET elsewhere, without it nobody opens a bucket with the backup.",
    options: ["to", "keep", "gzip"],
    operands: { least: 0, most: 0 },
  },
  restore: {
    usage: "hub restore FILE",
    says: "Put a backup in the place of the database. The hub must not be running.",
    more: "The database that is there stays beside it. When the hub starts, it reads what the buckets know of the time since, and deletes nothing until an admin confirms.",
    options: [],
    operands: { least: 1, most: 1 },
  },
  move: {
    usage: "hub move --to ADDRESS|FOLDER",
    says: "Move all data to PostgreSQL, to SQLite, or to another data folder. The hub must not be running.",
    more: "It goes from the database that the hub has now (TIDEMARK_DATABASE_URL, otherwise the data folder). Every table is compared, and the old database refuses to start from then on. After an interruption run the same command again. An address with a password belongs in TIDEMARK_MOVE_TO or TIDEMARK_MOVE_TO_FILE: others can read arguments.",
    options: ["to"],
    operands: { least: 0, most: 0 },
  },
  rebuild: {
    usage: "hub rebuild --name NAME --provider NAME --endpoint URL --bucket NAME [...] | --profile NAME",
    says: "The database is lost: write down anew what a bucket knows. The hub must not be running.",
    more: "The key comes from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. Repeat it for each bucket; one that was cut off goes on with --profile. Nodes enrol again, accounts are made again.",
    options: ["name", "provider", "endpoint", "bucket", "region", "prefix", "addressing", "profile"],
    operands: { least: 0, most: 0 },
  },
  janitor: {
    usage: "hub janitor [--profile NAME] [--delete]",
    says: "Show what lies in the buckets and nobody needs; with --delete remove it. The hub may be running.",
    more: "Only what belongs to epochs that are over and is older than 25 hours; never what a checkpoint names.",
    options: ["profile", "delete"],
    operands: { least: 0, most: 0 },
  },
  confirm: {
    usage: "hub confirm",
    says: "After a restore or rebuild: say that the record is whole, so that deletions are allowed again.",
    options: [],
    operands: { least: 0, most: 0 },
  },
  rekey: {
    usage: "hub rekey",
    says: "Replace the master key and seal everything anew. The hub must not be running.",
    more: "The new key is TIDEMARK_SECRET, the one it replaces TIDEMARK_SECRET_PREVIOUS (both also as ..._FILE). Where neither is set, the key file in the data folder is replaced by a new one. Older backups still need the older key.",
    options: [],
    operands: { least: 0, most: 0 },
  },
  user: {
    usage: "hub user list | create EMAIL --role ROLE | role EMAIL ROLE | disable EMAIL | password EMAIL",
    says: "Accounts, for when nobody can sign in. The hub may be running.",
    more: "create and password print a new password once, or read one from stdin with --stdin. Whoever gets a new password, another role or is disabled is signed out.",
    options: ["role", "stdin"],
    operands: { least: 1, most: 3 },
  },
} as const satisfies Record<string, HubCommandSpec>;
export type HubCommandName = keyof typeof HUB_COMMANDS;

const ALWAYS: readonly OptionName[] = ["data", "json", "help"];

export const isHubCommand = (name: string): name is HubCommandName => Object.hasOwn(HUB_COMMANDS, name);
export const optionsOf = (command: HubCommandName): OptionName[] => [...HUB_COMMANDS[command].options, ...ALWAYS];

export function helpLines(command: HubCommandName | null): string[] {
  if (command === null) {
    const lines = Object.entries(HUB_COMMANDS).map(([name, { says }]) => `  ${name.padEnd(10)} ${says}`);
    return ["npm run hub -- COMMAND", "", ...lines, "", "npm run hub -- COMMAND --help says more."];
  }
  const spec: HubCommandSpec = HUB_COMMANDS[command];
  const options = optionsOf(command).map((name) => {
    const { value, says }: OptionSpec = OPTIONS[name];
    return `  ${`--${name}${value === null ? "" : ` ${value}`}`.padEnd(28)} ${says}`;
  });
  const more = spec.more === undefined ? [] : ["", spec.more];
  return [spec.usage, "", spec.says, ...more, "", ...options];
}
