import type { Pool } from "pg";
import { Fault } from "#protocol/faults/fault.ts";
import { readMigrations, type Migration } from "../migrate.ts";
import type { Database, OpenedDatabase } from "../open.ts";
import { assertHere, readMark } from "../copy/move-mark.ts";
import { WORDS } from "../sql-words.ts";
import type { Turns } from "../take-turns.ts";
import { HubAdapter, type Nullable } from "./adapter.ts";
import { PrismaClient } from "./client/client.ts";
import { lockDatabase, type DatabaseLock, type LockOptions } from "./lock-database.ts";
import { assertPresent, FOLDER, migratePostgres } from "./migrate.ts";
import { runOn } from "./postgres-place.ts";
import { openPool, openSession, roomOf, type PoolRoom, type PostgresPlace } from "./pool.ts";
import { POSTGRES_WORDS } from "./words.ts";

export interface OpenedPostgres extends OpenedDatabase {
  room: () => PoolRoom;
  /** False while another hub may have the database. */
  canWrite: () => boolean;
}

export interface PostgresOptions {
  /** Makes turns for this many at once: they decide whose statement is next. */
  turns: (atOnce: number) => Turns;
  /** Receives the duration (ms) of each write or transaction. */
  onWrite?: (tookMs: number) => void;
  /** Default: the committed migrations. */
  migrations?: readonly Migration[];
  /** How to keep other hubs out; null: leaves the database unlocked. */
  lock: LockOptions | null;
}

async function nullableColumns(pool: Pool): Promise<Nullable> {
  const { rows } = await pool.query<{ name: string }>(
    `SELECT table_name || '.' || column_name AS name FROM information_schema.columns WHERE table_schema = current_schema() AND is_nullable = 'YES'`,
  );
  return new Set(rows.map(({ name }) => name));
}

/** Lets nothing be written while another hub may have the database. */
const whileHeld = ({ turns, onWrite }: PostgresOptions, lock: DatabaseLock | null): Turns => {
  const oneByOne = turns(1);
  const run: Turns["run"] = (work) =>
    oneByOne.run(async () => {
      if (lock !== null && !lock.isHeld()) throw new Fault("DATABASE_UNREACHABLE");
      const startedAt = performance.now();
      try {
        return await work();
      } finally {
        onWrite?.(performance.now() - startedAt);
      }
    });
  return { run };
};

/**
 * Opens the database of a hub, brings its schema up to date, and keeps other hubs out until `close`.
 * @throws MigrationRefused; Fault DATABASE_IN_USE when another hub has the database, DATABASE_MOVED
 */
export async function openPostgres(place: PostgresPlace, options: PostgresOptions): Promise<OpenedPostgres> {
  const lock = options.lock === null ? null : await lockDatabase(place, options.lock);
  const pool = openPool(place);
  try {
    const session = await openSession(place);
    try {
      assertHere(await readMark(runOn(session), "postgres"));
      await migratePostgres(session, options.migrations ?? (await readMigrations(FOLDER)));
    } finally {
      await session.end();
    }
    const adapter = new HubAdapter(pool, {
      writes: whileHeld(options, lock),
      // One connection is left for the writer.
      reads: options.turns(Math.max(1, place.connections - 1)),
      nullable: await nullableColumns(pool),
    });
    const client = new PrismaClient({ adapter, transactionOptions: { maxWait: 15_000, timeout: 30_000 } });
    // The two clients have the same models. Only filters that one database lacks differ, and the hub uses none of them.
    const db = Object.assign(client, { [WORDS]: POSTGRES_WORDS }) as unknown as Database;
    await db.$connect();
    return {
      db,
      room: () => roomOf(pool),
      canWrite: () => lock === null || lock.isHeld(),
      close: async () => {
        await db.$disconnect();
        await pool.end();
        await lock?.release();
      },
    };
  } catch (error) {
    await pool.end();
    await lock?.release();
    throw error;
  }
}

/**
 * Opens the database of a hub that may be running. Leaves the schema as it is.
 * @throws MigrationRefused when the database has another version
 */
export async function openPostgresBeside(
  place: PostgresPlace,
  turns: PostgresOptions["turns"],
): Promise<OpenedPostgres> {
  const session = await openSession(place);
  try {
    await assertPresent(session);
  } finally {
    await session.end();
  }
  return openPostgres(place, { turns, lock: null });
}
