import { createHash, randomUUID } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { SqlClient } from "./connection.ts";

/**
 * Brings a database to the present schema by running the committed SQL in order, each file in one transaction together
 * with the line that records it, in the same table and with the same checksums as Prisma's own tool. A database that was
 * written by a newer version, or a file that was changed after it ran, is refused: guessing would damage what is stored.
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

const checksumOf = (sql: string): string => createHash("sha256").update(sql).digest("hex");
const textOf = (value: unknown): string => (typeof value === "string" ? value : "");
const quote = (text: string): string => `'${text.replaceAll("'", "''")}'`;

/** The migrations committed in `folder`, in order of their names. */
export async function readMigrations(folder = join(import.meta.dirname, "migrations")): Promise<Migration[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  return Promise.all(
    names.toSorted().map(async (name) => ({ name, sql: await readFile(join(folder, name, "migration.sql"), "utf8") })),
  );
}

/**
 * Applies what is missing. Returns the names that ran.
 * @throws MigrationRefused when the history does not fit, or a migration fails (it is then rolled back as a whole)
 */
export async function migrate(client: SqlClient, migrations: readonly Migration[]): Promise<string[]> {
  await client.execute(HISTORY);
  const history = await client.execute(
    `SELECT "migration_name", "checksum" FROM "_prisma_migrations" WHERE "rolled_back_at" IS NULL ORDER BY "migration_name"`,
  );
  const done = new Map(history.rows.map((row) => [textOf(row[0]), textOf(row[1])]));
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
  const missing = migrations.filter((migration) => !done.has(migration.name));
  for (const migration of missing) await apply(client, migration);
  return missing.map((migration) => migration.name);
}

async function apply(client: SqlClient, { name, sql }: Migration): Promise<void> {
  const record = `INSERT INTO "_prisma_migrations" ("id", "checksum", "migration_name", "finished_at", "applied_steps_count")
    VALUES (${quote(randomUUID())}, ${quote(checksumOf(sql))}, ${quote(name)}, current_timestamp, 1)`;
  try {
    await client.executeMultiple(`BEGIN IMMEDIATE;\n${sql}\n;${record};\nCOMMIT;`);
  } catch (cause) {
    throw new MigrationRefused(`Migration ${name} failed and was rolled back.`, {
      why: cause instanceof Error ? cause.message : String(cause),
      fix: "Check the free space of the data folder; restore a backup if the file is damaged.",
      cause,
    });
  }
}
