import { PrismaClient } from "./client/client.ts";
import { connect, OneConnectionAdapter, settle, type SqlClient } from "./connection.ts";
import { findPending, migrate, MigrationRefused, readMigrations, type Migration } from "./migrate.ts";
import { openThreadClient } from "./thread-client.ts";
import { upgrade } from "./upgrade.ts";

export type Database = PrismaClient;
/** What a verb inside a transaction gets. */
export type Transaction = Parameters<Parameters<Database["$transaction"]>[0]>[0];

export interface OpenedDatabase {
  db: Database;
  /** Ends the connection; the write-ahead log is folded in first. */
  close: () => Promise<void>;
}

export interface OpenOptions {
  /** The committed ones unless a test brings its own. */
  migrations?: readonly Migration[];
  /** The statements of a file run in this thread: a command that nobody waits for, or a test, saves the start of another one. */
  inThisThread?: boolean;
  /** Hears how long (ms) each write or transaction took. */
  onWrite?: (tookMs: number) => void;
}

/** Before the last connection goes: not left to the closing of the file, which happens when the handle is collected. */
const FOLD_LOG = "PRAGMA wal_checkpoint(TRUNCATE)";

/** The client on a connection that was made ready; one that could not be is closed. `last` is said before the end. */
async function openOn(
  client: SqlClient,
  { ready, last, ended }: { ready: () => Promise<unknown>; last: readonly string[]; ended?: Promise<void> },
): Promise<OpenedDatabase> {
  try {
    await ready();
  } catch (error) {
    client.close();
    await ended;
    throw error;
  }
  const db = new PrismaClient({
    adapter: new OneConnectionAdapter(client),
    transactionOptions: { maxWait: 15_000, timeout: 30_000 },
  });
  await db.$connect();
  return {
    db,
    close: async () => {
      for (const statement of last) await client.execute(statement);
      await db.$disconnect();
      client.close();
      await ended;
    },
  };
}

/**
 * Opens the database at `url` (`file:/path` or `:memory:`) and brings its schema up to date, after a copy of what was there.
 * The statements of a file run in a thread of its own: a commit waits for the disk, and this thread must not.
 * @throws MigrationRefused
 */
export async function openDatabase(
  url: string,
  { migrations, inThisThread = false, onWrite }: OpenOptions = {},
): Promise<OpenedDatabase> {
  const file = url.startsWith("file:") ? url.slice("file:".length) : null;
  const thread = file === null || inThisThread ? null : openThreadClient(url);
  const client = await (thread === null ? connect(url, onWrite) : settle(thread.client, onWrite));
  const ready = async () => upgrade(client, file, migrations ?? (await readMigrations()));
  return openOn(client, { ready, last: [FOLD_LOG], ...(thread !== null && { ended: thread.ended }) });
}

/**
 * Opens a file that no hub has open and will have the place of its database: brought up to date without a copy, and closed
 * as one file without a log beside it.
 * @throws MigrationRefused
 */
export async function openAlone(file: string): Promise<OpenedDatabase> {
  const client = await connect(`file:${file}`);
  const ready = async () => migrate(client, await readMigrations());
  return openOn(client, { ready, last: [FOLD_LOG, "PRAGMA journal_mode = DELETE"] });
}

/**
 * Opens the database of a hub that may be running, beside it: nothing of its schema is changed.
 * @throws MigrationRefused when it is of another version
 */
export async function openBeside(file: string): Promise<OpenedDatabase> {
  const client = await connect(`file:${file}`);
  const ready = async () => {
    const { pending } = await findPending(client, await readMigrations());
    const [next] = pending;
    if (next === undefined) return;
    throw new MigrationRefused(`The database was written by an older version of Tidemark (before ${next.name}).`, {
      why: "Only a hub brings it up to date, when it starts.",
      fix: "Start this version of the hub once, then try again.",
    });
  };
  return openOn(client, { ready, last: [] });
}
