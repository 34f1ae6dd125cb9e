import type { Client } from "pg";
import { Fault } from "#protocol/faults/fault.ts";
import { markStatements, readMark, WITHOUT_MARK, type MoveMark, type RunSql } from "../copy/move-mark.ts";
import type { Place } from "../copy/place.ts";
import { databaseFailure } from "../database-failure.ts";
import { readMigrations } from "../migrate.ts";
import { lockDatabase, type DatabaseLock, type LockOptions } from "./lock-database.ts";
import { assertPresent, FOLDER, migratePostgres } from "./migrate.ts";
import { openLongSession, type PostgresPlace } from "./pool.ts";
import { readPostgresRows, writePostgresRows } from "./rows.ts";

/** Returns what runs statements for `readMark`. */
export const runOn =
  (client: Client): RunSql =>
  async (sql) =>
    (await client.query<Record<string, unknown>>(sql)).rows;

/** Returns an address without its password. */
export function withoutPassword(address: string): string {
  const { protocol, username, host, pathname } = new URL(address);
  return `${protocol}//${username === "" ? "" : `${username}@`}${host}${pathname}`;
}

/** Returns an error of the connection as a fault that names the database, with the words of the server about it. */
function named(error: unknown, subject: string): unknown {
  if (error instanceof Fault) return new Fault(error.code, { ...error.context, subject });
  const failure = databaseFailure(error);
  if (failure === null || !(error instanceof Error)) return error;
  return new Fault(failure, { subject, detail: error.message, cause: error });
}

async function withSession<T>(place: PostgresPlace, work: (session: Client) => Promise<T>): Promise<T> {
  const session = await openLongSession(place);
  try {
    return await work(session);
  } finally {
    await session.end().catch(() => undefined);
  }
}

async function inTransaction<T>(session: Client, begin: string, work: () => Promise<T>): Promise<T> {
  await session.query(begin);
  try {
    const result = await work();
    await session.query("COMMIT");
    return result;
  } catch (error) {
    await session.query("ROLLBACK").catch(() => undefined);
    throw error;
  }
}

async function mark(session: Client, one: MoveMark): Promise<void> {
  for (const statement of markStatements(one)) await session.query(statement);
}

/** Returns a database of PostgreSQL, whose schema need not be there yet. `lock`: how to keep hubs out. */
export function createPostgresPlace(place: PostgresPlace, lock: LockOptions): Place {
  let held: DatabaseLock | null = null;
  return {
    name: withoutPassword(place.directUrl),
    folder: null,
    lock: async () => {
      const taken = await lockDatabase(place, lock).catch((error: unknown): never => {
        throw named(error, withoutPassword(place.directUrl));
      });
      held = taken;
      return taken.release;
    },
    exists: () => Promise.resolve(true),
    readMark: () => withSession(place, (session) => readMark(runOn(session), "postgres")),
    writeMark: (one) => withSession(place, (session) => inTransaction(session, "BEGIN", () => mark(session, one))),
    hasRows: (tables) =>
      withSession(place, async (session) => {
        for (const { name } of tables) {
          const there = await session.query("SELECT 1 WHERE to_regclass($1) IS NOT NULL", [`"${name}"`]);
          if (there.rowCount === 0) continue;
          if ((await session.query(`SELECT 1 FROM "${name}" LIMIT 1`)).rowCount !== 0) return true;
        }
        return false;
      }),
    read: (work) =>
      withSession(place, (session) =>
        inTransaction(session, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", async () => {
          await assertPresent(session);
          return work(readPostgresRows(session));
        }),
      ),
    replace: ({ tables, fill, mark: one }) =>
      withSession(place, async (session) => {
        await migratePostgres(session, await readMigrations(FOLDER));
        const result = await inTransaction(session, "BEGIN", async () => {
          await session.query(`TRUNCATE ${tables.map(({ name }) => `"${name}"`).join(", ")}`);
          const filled = await fill(writePostgresRows(session));
          await (one === null ? session.query(WITHOUT_MARK) : mark(session, one));
          if (held?.isHeld() === false) throw new Fault("DATABASE_UNREACHABLE");
          return filled;
        });
        // The planner knows nothing of the new rows yet, and the server's own look at them comes later.
        await session.query("ANALYZE");
        return result;
      }),
  };
}
