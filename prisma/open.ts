import { PrismaClient } from "./client/client.ts";
import { connect, OneConnectionAdapter, type SqlClient } from "./connection.ts";
import { findPending, migrate, MigrationRefused, readMigrations, type Migration } from "./migrate.ts";
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
  /** Hears how long (ms) each write or transaction took. */
  onWrite?: (tookMs: number) => void;
}

/**
 * Opens the database at `url` (`file:/path` or `:memory:`) and brings its schema up to date, after a copy of what was there.
 * @throws MigrationRefused
 */
export async function openDatabase(url: string, { migrations, onWrite }: OpenOptions = {}): Promise<OpenedDatabase> {
  const client = await connect(url, onWrite);
  const file = url.startsWith("file:") ? url.slice("file:".length) : null;
  try {
    await upgrade(client, file, migrations ?? (await readMigrations()));
  } catch (error) {
    client.close();
    throw error;
  }
  const db = await clientOn(client);
  return {
    db,
    close: async () => {
      // Not left to the closing of the file, which happens when the handle is collected.
      await client.execute("PRAGMA wal_checkpoint(TRUNCATE)");
      await db.$disconnect();
      client.close();
    },
  };
}

async function clientOn(client: SqlClient): Promise<Database> {
  const db = new PrismaClient({
    adapter: new OneConnectionAdapter(client),
    transactionOptions: { maxWait: 15_000, timeout: 30_000 },
  });
  await db.$connect();
  return db;
}

/**
 * Opens a file that no hub has open and will have the place of its database: brought up to date without a copy, and closed
 * as one file without a log beside it.
 * @throws MigrationRefused
 */
export async function openAlone(file: string): Promise<OpenedDatabase> {
  const client = await connect(`file:${file}`);
  try {
    await migrate(client, await readMigrations());
  } catch (error) {
    client.close();
    throw error;
  }
  const db = await clientOn(client);
  return {
    db,
    close: async () => {
      await client.execute("PRAGMA wal_checkpoint(TRUNCATE)");
      await client.execute("PRAGMA journal_mode = DELETE");
      await db.$disconnect();
      client.close();
    },
  };
}

/**
 * Opens the database of a hub that may be running, beside it: nothing of its schema is changed.
 * @throws MigrationRefused when it is of another version
 */
export async function openBeside(file: string): Promise<OpenedDatabase> {
  const client = await connect(`file:${file}`);
  try {
    const { pending } = await findPending(client, await readMigrations());
    const [next] = pending;
    if (next !== undefined) {
      throw new MigrationRefused(`The database was written by an older version of Tidemark (before ${next.name}).`, {
        why: "Only a hub brings it up to date, when it starts.",
        fix: "Start this version of the hub once, then try again.",
      });
    }
  } catch (error) {
    client.close();
    throw error;
  }
  const db = await clientOn(client);
  return {
    db,
    close: async () => {
      await db.$disconnect();
      client.close();
    },
  };
}
