/** Every setting in the hub's environment, with its default. A test finds missing ones. */

interface SettingRow {
  name: string;
  about: string;
  usual: string;
  /** `NAME_FILE` may name a file with the value. */
  mayBeFile?: true;
  /** `secret`: only whether it is set is shown. `signer`: this process never receives it. */
  kept?: "secret" | "signer";
}

export const HUB_SETTINGS: readonly { group: string; rows: readonly SettingRow[] }[] = [
  {
    group: "Address",
    rows: [
      { name: "TIDEMARK_PORT", about: "where the hub listens; 0 takes a free one", usual: "7140" },
      { name: "TIDEMARK_HOST", about: "the address it listens at", usual: "127.0.0.1" },
      {
        name: "TIDEMARK_PUBLIC_URL",
        about: "as people and nodes reach it: the origin check, Secure cookies, the lines of Add node",
        usual: "as requested",
      },
      { name: "TIDEMARK_TRUST_PROXY", about: "believe the last X-Forwarded-For and -Proto", usual: "0" },
      { name: "TIDEMARK_NO_UI", about: "serve the API alone", usual: "0" },
    ],
  },
  {
    group: "Data and keys",
    rows: [
      { name: "TIDEMARK_DATA", about: "database, lock, key file", usual: "./data" },
      {
        name: "TIDEMARK_DATABASE_URL",
        about: "PostgreSQL in place of the file in the data folder: postgres://user:password@host/database",
        usual: "SQLite",
        kept: "secret",
        mayBeFile: true,
      },
      {
        name: "TIDEMARK_DATABASE_DIRECT_URL",
        about: "the same database without a pooler, where the first goes through one",
        usual: "the first",
        kept: "secret",
        mayBeFile: true,
      },
      {
        name: "TIDEMARK_MOVE_TO",
        about: "the database to which `hub move` takes the data; the hub itself does not use it",
        usual: "none",
        kept: "secret",
        mayBeFile: true,
      },
      { name: "TIDEMARK_DATABASE_CONNECTIONS", about: "most connections to PostgreSQL", usual: "10" },
      {
        name: "TIDEMARK_SECRET",
        about: "the master key; known only to the signer, the process that holds it",
        usual: "a key file",
        kept: "signer",
      },
      {
        name: "TIDEMARK_SECRET_PREVIOUS",
        about: "the master key that it replaces, for one start",
        usual: "none",
        kept: "signer",
      },
      {
        name: "TIDEMARK_KEEPER_UID",
        about: "the user of the signer, the process that holds the master key, where the start is root's",
        usual: "as the start",
      },
      {
        name: "TIDEMARK_HUB_UID",
        about: "the user of the process that serves pages, where the start is root's",
        usual: "as the start",
      },
      { name: "TIDEMARK_ADMIN_EMAIL", about: "the first account, only while there is none", usual: "none" },
      { name: "TIDEMARK_ADMIN_PASSWORD", about: "its password", usual: "none", kept: "secret", mayBeFile: true },
      {
        name: "TIDEMARK_ROTATE_CREDENTIALS",
        about: "how old a node's credential gets before it is replaced",
        usual: "30d",
      },
    ],
  },
  {
    group: "Where stores may be",
    rows: [
      {
        name: "TIDEMARK_ALLOW_PRIVATE_ENDPOINTS",
        about: "at private addresses; always while the hub listens on loopback",
        usual: "0",
      },
      {
        name: "TIDEMARK_ALLOW_ENDPOINTS",
        about: "in these networks and at these hosts, on any port and over http",
        usual: "none",
      },
      {
        name: "TIDEMARK_ENDPOINT_PORTS",
        about: "on further ports of public addresses",
        usual: "80, 443, 8080, 8443, 9000, 9443, 8333, 3900, 7480",
      },
      { name: "TIDEMARK_ALLOW_HTTP_ENDPOINTS", about: "at public addresses over plain http", usual: "0" },
    ],
  },
  {
    group: "Metrics and log",
    rows: [
      { name: "TIDEMARK_METRICS", about: "who may read /metrics: everyone, loopback, nobody", usual: "everyone" },
      {
        name: "TIDEMARK_METRICS_TOKEN",
        about: "a bearer token that /metrics also requires",
        usual: "none",
        kept: "secret",
        mayBeFile: true,
      },
      { name: "TIDEMARK_LOG", about: "debug, info, warn, error, silent", usual: "info" },
    ],
  },
  {
    group: "Giving machines back",
    rows: [
      {
        name: "TIDEMARK_REALLOCATE_PER_HOUR",
        about: "most machines that the fleet may give back in any hour",
        usual: "10",
      },
      {
        name: "TIDEMARK_REALLOCATE_COOLDOWN",
        about: "shortest time between two reallocations of one machine",
        usual: "5m",
      },
      {
        name: "TIDEMARK_REALLOCATE_QUORUM",
        about: "no machine is reallocated while more than this share of the machines on a bucket was rejected",
        usual: "50%",
      },
      { name: "TIDEMARK_REALLOCATE_QUORUM_LEAST", about: "and at least so many of them", usual: "2" },
      {
        name: "TIDEMARK_REALLOCATE_EXCLUDE",
        about: "how long a machine that was given back is rejected without a measurement",
        usual: "48h",
      },
      {
        name: "TIDEMARK_PROBE_GOOD_FOR",
        about: "how long an accepted machine is not measured again",
        usual: "24h",
      },
    ],
  },
  {
    group: "SaladCloud",
    rows: [
      {
        name: "TIDEMARK_SALAD_ORGANIZATIONS",
        about: "organizations whose containers join without a token, by id",
        usual: "none",
        mayBeFile: true,
      },
      { name: "TIDEMARK_SALAD_WORKLOADS", about: "and their container groups, by id", usual: "none", mayBeFile: true },
      {
        name: "TIDEMARK_SALAD_PROFILE",
        about: "bucket profile that they get, by name",
        usual: "the only one",
        mayBeFile: true,
      },
      { name: "TIDEMARK_SALAD_FLEET", about: "fleet that they join", usual: "salad", mayBeFile: true },
      {
        name: "TIDEMARK_SALAD_RUNS",
        about: "patterns of the runs that they may write",
        usual: "those they name when they enrol, and new ones",
        mayBeFile: true,
      },
      {
        name: "TIDEMARK_SALAD_AUDIENCE",
        about: "what aud of their identity may be",
        usual: "the organizations",
        mayBeFile: true,
      },
      { name: "TIDEMARK_SALAD_ISSUER", about: "what iss of it has to be", usual: "any", mayBeFile: true },
      {
        name: "TIDEMARK_SALAD_JWKS_URL",
        about: "where the platform's keys are published",
        usual: "the platform's",
        mayBeFile: true,
      },
      {
        name: "TIDEMARK_SALAD_JWKS",
        about: "the keys themselves, for a hub that reaches nothing",
        usual: "none",
        mayBeFile: true,
      },
      {
        name: "TIDEMARK_SALAD_API_URL",
        about: "the API that groups are read and scaled by",
        usual: "the platform's",
        mayBeFile: true,
      },
    ],
  },
  {
    group: "Upkeep",
    rows: [
      { name: "TIDEMARK_BACKUP_EVERY", about: "how often the database is backed up; off for never", usual: "24h" },
      { name: "TIDEMARK_BACKUP_TO", about: "the folder of backups, relative to the data folder", usual: "backups" },
      { name: "TIDEMARK_BACKUP_KEEP", about: "how many stay there", usual: "7" },
      { name: "TIDEMARK_JANITOR", about: "off, report or delete what nobody needs", usual: "report" },
      { name: "TIDEMARK_JANITOR_EVERY", about: "how often it looks", usual: "24h" },
      {
        name: "TIDEMARK_KEEPING_EVERY",
        about: "how often policies are applied and the trash is looked through",
        usual: "10m",
      },
    ],
  },
  {
    group: "How long it is kept",
    rows: [
      { name: "TIDEMARK_KEEP_RAW", about: "minutes of each node", usual: "7d" },
      { name: "TIDEMARK_KEEP_MINUTES", about: "minutes of all nodes together", usual: "14d" },
      { name: "TIDEMARK_KEEP_HOURS", about: "hours of each node and of all", usual: "90d" },
      { name: "TIDEMARK_KEEP_DAYS", about: "days of each node and of all", usual: "730d" },
      { name: "TIDEMARK_KEEP_TRANSFERS", about: "probes and transfers, one by one", usual: "90d" },
      { name: "TIDEMARK_KEEP_AUDIT", about: "who did what, and every use of a bucket's keys", usual: "730d" },
    ],
  },
];
