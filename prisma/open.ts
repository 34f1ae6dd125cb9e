import { PrismaClient } from "./client/client.ts";
import { fileUrl, pathOfUrl } from "./file-url.ts";
import { connect, OneConnectionAdapter, settle, type SqlClient } from "./connection.ts";
import { findPending, migrate, MigrationRefused, readMigrations, type Migration } from "./migrate.ts";
import { SQLITE_WORDS, WORDS } from "./sql-words.ts";
import { assertHere, readMark } from "./copy/move-mark.ts";
import { openThreadClient } from "./thread-client.ts";
import type { Turns } from "./take-turns.ts";
import { upgrade } from "./upgrade.ts";

export type Database = PrismaClient;
/** The client that a function inside a transaction receives. */
export type Transaction = Parameters<Parameters<Database["$transaction"]>[0]>[0];

export interface OpenedDatabase {
  db: Database;
  /** Closes the connection after a checkpoint of the write-ahead log. */
  close: () => Promise<void>;
}

export interface OpenOptions {
  /** Default: the committed migrations. */
  migrations?: readonly Migration[];
  /** Runs the statements of a file in this thread. Short commands and tests save the start of another thread. */
  inThisThread?: boolean;
  /** Receives the duration (ms) of each write or transaction. */
  onWrite?: (tookMs: number) => void;
  /** Decides whose statement is next. Absent: in order of arrival. */
  turns?: Turns;
}

/** Runs before close: closing the file would checkpoint the log only when the handle is garbage-collected. */
const FOLD_LOG = "PRAGMA wal_checkpoint(TRUNCATE)";

/** @throws Fault DATABASE_MOVED */
async function assertNotMoved(client: SqlClient): Promise<void> {
  assertHere(await readMark(async (sql) => (await client.execute(sql)).rows, "sqlite"));
}

/** Returns a Prisma client after `ready`; closes the connection when `ready` fails. `close` first runs the statements `last`. */
async function openOn(
  client: SqlClient,
  about: { ready: () => Promise<unknown>; last: readonly string[]; ended?: Promise<void>; turns?: Turns },
): Promise<OpenedDatabase> {
  const { ready, last, ended, turns = null } = about;
  try {
    await assertNotMoved(client);
    await ready();
  } catch (error) {
    client.close();
    await ended;
    throw error;
  }
  const db = new PrismaClient({
    adapter: new OneConnectionAdapter(client, turns),
    transactionOptions: { maxWait: 15_000, timeout: 30_000 },
  });
  Object.assign(db, { [WORDS]: SQLITE_WORDS });
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
 * Opens the database at `url` (`file:/path` or `:memory:`), copies an older one and brings the schema up to date. Statements
 * of a file run in a thread of their own: a commit waits for the disk, and this thread must not wait.
 * @throws MigrationRefused; Fault DATABASE_MOVED
 */
export async function openDatabase(
  url: string,
  { migrations, inThisThread = false, onWrite, turns }: OpenOptions = {},
): Promise<OpenedDatabase> {
  const file = pathOfUrl(url);
  const thread = file === null || inThisThread ? null : openThreadClient(url);
  const client = await (thread === null ? connect(url, onWrite) : settle(thread.client, onWrite));
  const ready = async () => upgrade(client, file, migrations ?? (await readMigrations()));
  return openOn(client, {
    ready,
    last: [FOLD_LOG],
    ...(thread !== null && { ended: thread.ended }),
    ...(turns !== undefined && { turns }),
  });
}

/**
 * Opens a file that no hub has open and that will replace its database. Brings the schema up to date without a copy, and
 * closes the database as one file without a log beside it.
 * @throws MigrationRefused; Fault DATABASE_MOVED
 */
export async function openAlone(file: string): Promise<OpenedDatabase> {
  const client = await connect(fileUrl(file));
  const ready = async () => migrate(client, await readMigrations());
  return openOn(client, { ready, last: [FOLD_LOG, "PRAGMA journal_mode = DELETE"] });
}

/**
 * Opens the database of a hub that may be running. Leaves the schema as it is.
 * @throws MigrationRefused when the database has another version; Fault DATABASE_MOVED
 */
export async function openBeside(file: string): Promise<OpenedDatabase> {
  const client = await connect(fileUrl(file));
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
