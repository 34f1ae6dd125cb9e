import { randomUUID } from "node:crypto";
import { join } from "node:path";
import type { Client } from "pg";
import { assertHistory, checksumOf, MigrationRefused, readMigrations, type Migration } from "../migrate.ts";

/**
 * Brings a database of PostgreSQL to the present schema by running the committed SQL files of `migrations/` in order. Their names
 * are those of SQLite's, from 0045_lines on: a change of the schema is one file in each folder. All missing ones run in one
 * transaction, which PostgreSQL takes back whole.
 */

export const FOLDER = join(import.meta.dirname, "migrations");

const HISTORY = `CREATE TABLE IF NOT EXISTS "_prisma_migrations" (
  "id" VARCHAR(36) PRIMARY KEY NOT NULL,
  "checksum" VARCHAR(64) NOT NULL,
  "finished_at" TIMESTAMPTZ,
  "migration_name" VARCHAR(255) NOT NULL,
  "logs" TEXT,
  "rolled_back_at" TIMESTAMPTZ,
  "started_at" TIMESTAMPTZ NOT NULL DEFAULT now(),
  "applied_steps_count" INTEGER NOT NULL DEFAULT 0
)`;

/** @throws MigrationRefused when the recorded history does not match */
export async function findPendingPostgres(
  client: Client,
  migrations: readonly Migration[],
): Promise<{ pending: Migration[] }> {
  const table = await client.query(`SELECT to_regclass('"_prisma_migrations"') IS NOT NULL AS "isThere"`);
  const [there] = table.rows as { isThere: boolean }[];
  if (there?.isThere !== true) return { pending: [...migrations] };
  const { rows } = await client.query<{ name: string; checksum: string }>(
    `SELECT "migration_name" AS name, "checksum" AS checksum FROM "_prisma_migrations" WHERE "rolled_back_at" IS NULL ORDER BY "migration_name" COLLATE "C"`,
  );
  const done = new Map(rows.map(({ name, checksum }) => [name, checksum]));
  assertHistory(done, migrations);
  return { pending: migrations.filter(({ name }) => !done.has(name)) };
}

/** Refuses a database whose schema is not the present one. @throws MigrationRefused */
export async function assertPresent(client: Client): Promise<void> {
  const { pending } = await findPendingPostgres(client, await readMigrations(FOLDER));
  const [next] = pending;
  if (next === undefined) return;
  throw new MigrationRefused(`The database was written by an older version of Tidemark (before ${next.name}).`, {
    why: "Only a hub brings it up to date, when it starts.",
    fix: "Start this version of the hub once, then try again.",
  });
}

/**
 * Applies the missing migrations and returns the names of those that ran.
 * @throws MigrationRefused when the history does not match, or when a migration fails: then none of them was applied
 */
export async function migratePostgres(client: Client, migrations: readonly Migration[]): Promise<string[]> {
  const { pending } = await findPendingPostgres(client, migrations);
  let failing = pending[0]?.name ?? "";
  if (pending.length === 0) return [];
  try {
    // Building an index of a large table may take longer than a statement of the hub.
    await client.query("BEGIN; SET LOCAL statement_timeout = 0");
    await client.query(HISTORY);
    for (const { name, sql } of pending) {
      failing = name;
      await client.query(sql);
      await client.query(
        `INSERT INTO "_prisma_migrations" ("id", "checksum", "migration_name", "finished_at", "applied_steps_count") VALUES ($1, $2, $3, now(), 1)`,
        [randomUUID(), checksumOf(sql), name],
      );
    }
    await client.query("COMMIT");
  } catch (cause) {
    await client.query("ROLLBACK").catch(() => undefined);
    throw new MigrationRefused(`Migration ${failing} failed; the database is as it was before.`, {
      why: cause instanceof Error ? cause.message : String(cause),
      fix: "Check that the hub's user owns the database and its schema and start again, or go on with the version before.",
      cause,
    });
  }
  return pending.map(({ name }) => name);
}
