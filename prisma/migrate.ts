import { createHash, randomUUID } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { SqlClient } from "./connection.ts";

/**
 * Brings a database to the present schema by running the committed SQL files in order. Records them in the table of Prisma's
 * own tool, with the same checksums. All missing migrations run in one transaction, so the schema is never between two
 * versions. Refuses a database that a newer version wrote, and a migration that changed after it ran: guessing could damage
 * data.
 */

export class MigrationRefused extends Error {
  readonly why: string;
  readonly fix: string;

  constructor(what: string, reason: { why: string; fix: string; cause?: unknown }) {
    super(what, { cause: reason.cause });
    this.name = "MigrationRefused";
    this.why = reason.why;
    this.fix = reason.fix;
  }
}

export interface Migration {
  name: string;
  sql: string;
}

const HISTORY = `CREATE TABLE IF NOT EXISTS "_prisma_migrations" (
  "id" TEXT PRIMARY KEY NOT NULL,
  "checksum" TEXT NOT NULL,
  "finished_at" DATETIME,
  "migration_name" TEXT NOT NULL,
  "logs" TEXT,
  "rolled_back_at" DATETIME,
  "started_at" DATETIME NOT NULL DEFAULT current_timestamp,
  "applied_steps_count" INTEGER UNSIGNED NOT NULL DEFAULT 0
)`;

export const checksumOf = (sql: string): string => createHash("sha256").update(sql).digest("hex");
/** Returns a cell with text; empty for any other. */
export const textOf = (value: unknown): string => (typeof value === "string" ? value : "");
const quote = (text: string): string => `'${text.replaceAll("'", "''")}'`;

/** Returns the migrations committed in `folder`, in order of their names. */
export async function readMigrations(folder = join(import.meta.dirname, "migrations")): Promise<Migration[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  return Promise.all(
    names.toSorted().map(async (name) => ({ name, sql: await readFile(join(folder, name, "migration.sql"), "utf8") })),
  );
}

/**
 * Refuses a history (checksums by name) that these migrations did not make. @throws MigrationRefused
 */
export function assertHistory(done: ReadonlyMap<string, string>, migrations: readonly Migration[]): void {
  for (const [name, checksum] of done) {
    const known = migrations.find((migration) => migration.name === name);
    if (known === undefined) {
      throw new MigrationRefused(`The database was written by a newer version of Tidemark (${name}).`, {
        why: "This version does not know that change, so it could damage what is stored.",
        fix: "Start the newer version again, or restore a backup made with this one.",
      });
    }
    if (checksumOf(known.sql) !== checksum) {
      throw new MigrationRefused(`Migration ${name} is not the one this database was made with.`, {
        why: "A migration never changes after it was released.",
        fix: "Install Tidemark again from its source; the database itself is untouched.",
      });
    }
  }
}

/**
 * Returns the migrations that have not run yet, and in `done` how many have.
 * @throws MigrationRefused when the recorded history does not match
 */
export async function findPending(
  client: SqlClient,
  migrations: readonly Migration[],
): Promise<{ done: number; pending: Migration[] }> {
  const table = await client.execute(`SELECT 1 FROM sqlite_master WHERE name = '_prisma_migrations'`);
  if (table.rows.length === 0) return { done: 0, pending: [...migrations] };
  const history = await client.execute(
    `SELECT "migration_name", "checksum" FROM "_prisma_migrations" WHERE "rolled_back_at" IS NULL ORDER BY "migration_name"`,
  );
  const done = new Map(history.rows.map((row) => [textOf(row[0]), textOf(row[1])]));
  assertHistory(done, migrations);
  return { done: done.size, pending: migrations.filter((migration) => !done.has(migration.name)) };
}

/**
 * Applies the missing migrations and returns the names of those that ran.
 * @throws MigrationRefused when the history does not match, or when a migration fails: then none of them was applied
 */
export async function migrate(client: SqlClient, migrations: readonly Migration[]): Promise<string[]> {
  const { pending } = await findPending(client, migrations);
  if (pending.length === 0) return [];
  // Dropping a table to recreate it would delete the rows that refer to it. SQLite ignores this PRAGMA inside a transaction.
  await client.execute("PRAGMA foreign_keys = OFF");
  try {
    await client.executeMultiple(`BEGIN IMMEDIATE;\n${HISTORY};\n${scriptOf(pending)}\n${NO_ORPHANS}\nCOMMIT;`);
  } catch (cause) {
    const name = await findFailing(client, pending);
    throw new MigrationRefused(`Migration ${name} failed; the database is as it was before.`, {
      why: cause instanceof Error ? cause.message : String(cause),
      fix: "Check the free space of the data folder and start again, or go on with the version before; restore a backup if the file is damaged.",
      cause,
    });
  } finally {
    await client.execute("PRAGMA foreign_keys = ON");
  }
  return pending.map((migration) => migration.name);
}

/** Fails when a migration leaves rows that refer to missing rows. */
const NO_ORPHANS = `CREATE TEMP TABLE "_orphans" ("rows" INTEGER CHECK ("rows" = 0));
INSERT INTO "_orphans" SELECT count(*) FROM pragma_foreign_key_check;
DROP TABLE "_orphans";`;

const scriptOf = (migrations: readonly Migration[]): string =>
  migrations.map((migration) => `${migration.sql}\n;${recordOf(migration)};`).join("\n");

/** Returns the first migration that fails after those before it. Every attempt is rolled back. */
async function findFailing(client: SqlClient, pending: readonly Migration[]): Promise<string> {
  for (let count = 1; count < pending.length; count++) {
    const script = `BEGIN IMMEDIATE;\n${HISTORY};\n${scriptOf(pending.slice(0, count))}\nROLLBACK;`;
    const ran = await client.executeMultiple(script).then(
      () => true,
      () => false,
    );
    if (!ran) return pending[count - 1]?.name ?? "";
  }
  return pending.at(-1)?.name ?? "";
}

const recordOf = ({ name, sql }: Migration): string =>
  `INSERT INTO "_prisma_migrations" ("id", "checksum", "migration_name", "finished_at", "applied_steps_count")
    VALUES (${quote(randomUUID())}, ${quote(checksumOf(sql))}, ${quote(name)}, current_timestamp, 1)`;
