import { PrismaClient } from "./client/client.ts";
import { connect, OneConnectionAdapter } from "./connection.ts";
import { migrate, readMigrations } from "./migrate.ts";

export type Database = PrismaClient;
/** What a verb inside a transaction gets. */
export type Transaction = Parameters<Parameters<Database["$transaction"]>[0]>[0];

export interface OpenedDatabase {
  db: Database;
  /** Ends the connection; the write-ahead log is folded in first. */
  close: () => Promise<void>;
}

/**
 * Opens the database at `url` (`file:/path` or `:memory:`) and brings its schema up to date. `onWrite` hears how long (ms)
 * each write or transaction took.
 * @throws MigrationRefused
 */
export async function openDatabase(url: string, onWrite?: (tookMs: number) => void): Promise<OpenedDatabase> {
  const client = await connect(url, onWrite);
  await migrate(client, await readMigrations());
  const db = new PrismaClient({
    adapter: new OneConnectionAdapter(client),
    transactionOptions: { maxWait: 15_000, timeout: 30_000 },
  });
  await db.$connect();
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
