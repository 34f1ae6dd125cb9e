import { row, type FaultRow } from "./fault-row.ts";

/** Faults that only a hub has: accounts, sign-in, keys, its record, outgoing messages. Part of fault-table.ts. */
export const HUB_FAULTS = {
  SIGN_IN_FAILED: row("never", 401, {
    exit: 4,
    says: "The e-mail address or the password is wrong.",
    next: "Try again.",
  }),
  NOT_SIGNED_IN: row("never", 401, { exit: 4, says: "You are not signed in.", next: "Sign in." }),
  ROLE_REQUIRED: row("never", 403, {
    exit: 4,
    says: "Your role does not allow this.",
    next: "Ask an admin of this hub.",
  }),
  SETUP_CLOSED: row("never", 409, {
    exit: 4,
    says: "This hub already has its first account.",
    next: "Sign in instead.",
  }),
  SETUP_CODE_WRONG: row("never", 401, {
    exit: 4,
    says: "The setup code is wrong or has expired.",
    next: "Use the code printed on the hub's console.",
  }),
  TOO_MANY_TRIES: row("backoff", 429, { exit: 5, says: "Too many tries.", next: "Wait a little and try again." }),
  HUB_DISK_FULL: row("backoff", 503, {
    exit: 5,
    says: "The disk of the hub is full, so it could not store this.",
    next: "Free some space on the disk of its data folder; the hub then continues by itself. Everything that it acknowledged is kept.",
  }),
  HUB_BUSY: row("backoff", 503, {
    exit: 5,
    says: "The hub's database was busy for too long, so nothing was changed.",
    next: "Try again in a moment. If it stays, look at the load of the hub's machine and at what else reads hub.db.",
  }),
  DATABASE_UNREACHABLE: row("backoff", 503, {
    exit: 5,
    says: "The hub cannot reach its database, so it does not know whether this was stored.",
    next: "Start PostgreSQL, or check TIDEMARK_DATABASE_URL and the network. Then try again: nothing takes effect twice.",
  }),
  DATABASE_IN_USE: row("never", 409, {
    exit: 4,
    says: "Another hub is using this database.",
    next: "Stop it first, or give this hub a database of its own.",
  }),
  DATABASE_MOVED: row("never", 409, {
    exit: 4,
    says: "This is not the database that the hub works on.",
    next: "Give the hub the other one (TIDEMARK_DATABASE_URL, TIDEMARK_DATA), or move the data here: npm run hub -- move (docs/postgres.md).",
  }),
  DATABASE_COPY_DIFFERS: row("never", 500, {
    exit: 6,
    says: "The copy of this table is not the same as the table, so the copy was given up.",
    next: "Nothing was changed: the database that was read is as it was. Check the disks of both and try again.",
  }),
  HUB_DATABASE_DAMAGED: row("backoff", 503, {
    exit: 7,
    says: "The hub's file hub.db is not whole: its database is damaged, or is none.",
    next: "Stop the hub, keep the file, and restore a backup (npm run hub -- restore FILE), or without one move it away and rebuild it from the buckets (npm run hub -- rebuild).",
  }),
  CROSS_SITE: row("never", 403, {
    exit: 4,
    says: "The request did not come from this hub's own pages.",
    next: "Open the hub's address itself.",
  }),
  MASTER_KEY_WRONG: row("never", 500, {
    exit: 4,
    says: "The master key does not fit this database.",
    next: "Start the hub with the TIDEMARK_SECRET (or key file) this database was created with.",
  }),
  MASTER_KEY_MISSING: row("never", 500, {
    exit: 4,
    says: "The database holds sealed keys but there is no master key.",
    next: "Set TIDEMARK_SECRET or put the key file back; a new key could not open what is stored.",
  }),
  MASTER_KEY_WEAK: row("never", 500, {
    exit: 2,
    says: "TIDEMARK_SECRET is too short or easy to guess.",
    next: "Use at least 32 random characters: openssl rand -base64 32",
  }),
  ENDPOINT_REFUSED: row("never", 400, {
    exit: 4,
    says: "Blocked address (link-local or metadata).",
    next: "Use the store's public address, or have the hub's operator allow this one (TIDEMARK_ALLOW_ENDPOINTS).",
  }),
  BACKUP_DAMAGED: row("never", 422, {
    exit: 6,
    says: "This is no whole backup of a hub.",
    next: "Nothing was changed. Take another one; `hub backup` checks each when it is made.",
  }),
  HISTORY_UNREAD: row("backoff", 503, {
    exit: 5,
    says: "A part of this hub's record was lost, and it has not read yet what the bucket knows of this run.",
    next: "It is tried again; nothing that was uploaded is lost.",
  }),
  DELETIONS_OFF: row("never", 409, {
    exit: 4,
    says: "Nothing is deleted: a part of this hub's record was lost, and nobody has confirmed yet that it is complete.",
    next: "When all of the bucket has been listed, an admin confirms it.",
  }),
  CHECKPOINT_KEPT: row("never", 409, {
    exit: 4,
    says: "This checkpoint stays.",
    next: "Remove its pin or tag first, or wait for the restore that reads it.",
  }),
  CHECKPOINT_TRASHED: row("never", 409, {
    exit: 4,
    says: "This checkpoint is in the trash.",
    next: "Bring it back first.",
  }),
  LISTING_OVER: row("never", 409, {
    exit: 1,
    says: "This place in the listing is not known any more.",
    next: "List again; pages do so by themselves.",
  }),
  BELONGS_TO_TIDEMARK: row("never", 409, {
    exit: 4,
    says: "It belongs to Tidemark, so it is neither moved nor deleted here.",
    next: "Remove the checkpoint it belongs to; leftovers are removed under Settings, Upkeep.",
  }),
  KELPIE_REFUSED: row("never", 502, {
    exit: 4,
    says: "The Kelpie API did not carry out the request.",
    next: "Check its address, the key, and with a key of Salad the organization and the project.",
  }),
  KELPIE_UNREACHABLE: row("backoff", 503, {
    exit: 5,
    says: "The Kelpie API cannot be reached.",
    next: "Check its address. The same command can be started again: jobs that were imported are not imported twice.",
  }),
  GROUP_KEY_REFUSED: row("never", 502, {
    exit: 4,
    says: "The provider refused the key of this account.",
    next: "Enter another key.",
  }),
  GROUP_UNKNOWN: row("never", 404, {
    exit: 4,
    says: "The provider does not know it.",
    next: "Check the names in the account, and whether the group is still there.",
  }),
  GROUP_REFUSED: row("never", 502, {
    exit: 4,
    says: "The provider refused this.",
    next: "Read its reason.",
  }),
  GROUP_PAUSED: row("backoff", 429, {
    exit: 5,
    says: "The provider asks for a pause.",
    next: "Wait a little and try again.",
  }),
  GROUP_UNREACHABLE: row("backoff", 503, {
    exit: 5,
    says: "The provider cannot be reached.",
    next: "It is tried again.",
  }),
  CHANNEL_REFUSED: row("never", 502, {
    exit: 1,
    says: "The other end refused the message.",
    next: "Check the address and the secret: --notify and --notify-key of a worker, or the channel of a hub, which can send a test.",
  }),
  CHANNEL_UNREACHABLE: row("backoff", 503, {
    exit: 5,
    says: "The message could not be delivered.",
    next: "It is tried again.",
  }),
  ACCOUNT_DISABLED: row("never", 403, {
    exit: 4,
    says: "This account is disabled.",
    next: "Ask an admin of this hub.",
  }),
  LAST_ADMIN: row("never", 409, {
    exit: 4,
    says: "This is the last admin that can sign in.",
    next: "Make somebody else an admin first.",
  }),
  PASSWORD_WRONG: row("never", 403, { exit: 4, says: "The password is wrong.", next: "Try again." }),
  CODE_REFUSED: row("never", 401, {
    exit: 4,
    says: "This link is not good, or not any more.",
    next: "Ask an admin of this hub for a new one.",
  }),
  API_TOKEN_REFUSED: row("never", 401, {
    exit: 4,
    says: "This API token is not good, or not any more.",
    next: "Make a new one.",
  }),
  PERSON_REQUIRED: row("never", 403, {
    exit: 4,
    says: "An API token may not do this.",
    next: "Sign in at the hub's pages and do it there.",
  }),
  CREDENTIAL_REPLACED: row("now", 401, {
    exit: 4,
    says: "A newer credential has replaced this one.",
    next: "The worker continues with the new one.",
  }),
  WORKLOAD_REFUSED: row("never", 401, {
    exit: 4,
    says: "The hub does not accept this workload.",
    next: "Name its organization and container group in the hub's settings, or enrol with a join token.",
  }),
  PROFILE_NOT_THIS_NODES: row("never", 403, {
    exit: 4,
    says: "This node does not write to such a bucket profile.",
    next: "Name its own, or a home of a run that it writes.",
  }),
  BENCH_RUNNING: row("never", 409, {
    exit: 4,
    says: "This node has its turn in a benchmark already.",
    next: "Wait for it to end, or cancel it under Benchmarks.",
  }),
  WORKLOAD_KEYS_AWAY: row("backoff", 503, {
    exit: 5,
    says: "The hub could not fetch the keys that the platform signs with.",
    next: "It is tried again; check TIDEMARK_SALAD_JWKS_URL at the hub.",
  }),
  SEAL_REQUIRED: row("backoff", 409, {
    exit: 4,
    says: "This bucket takes encrypted checkpoints only, and this one came without encryption.",
    next: "It is tried again; else update the worker on this node.",
  }),
  SEAL_BROKEN: row("never", 409, {
    exit: 5,
    says: "What lies in the store does not open with its key: it was changed, cut, exchanged, or belongs elsewhere.",
    next: "Nothing of it was put in place; an older checkpoint is restored where one may be.",
  }),
  SEAL_KEY_MISSING: row("never", 409, {
    exit: 4,
    says: "It is encrypted, and this hub does not have the key.",
    next: "An admin imports the exported key on the page of the bucket profile. Without that key nobody can read it.",
  }),
  SEAL_KEY_NEEDED: row("never", 409, {
    exit: 4,
    says: "It is encrypted, and this node does not have its key.",
    next: "Name the file with its key: --encrypt-key FILE. Without that key nobody can read it.",
  }),
  SEAL_KEY_REFUSED: row("never", 403, {
    exit: 4,
    says: "It is encrypted, and its key is given only to a node that was asked to restore it.",
    next: "Restore it from the hub's page: that assigns it to a node.",
  }),
} as const satisfies Record<string, FaultRow>;
