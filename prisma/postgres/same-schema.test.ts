import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connect } from "../connection.ts";
import { migrate, readMigrations } from "../migrate.ts";
import { FOLDER, migratePostgres } from "./migrate.ts";

/** Applies both folders of migrations and compares what the two databases then say of themselves. */

const server = process.env["TEST_POSTGRES_URL"];

interface Column {
  type: string;
  isNullable: boolean;
  hasDefault: boolean;
}
interface Shape {
  columns: Record<string, Column>;
  primaryKey: string[];
  /** `unique` or `index`, and the columns in their order. */
  indexes: string[];
  /** Columns, the table and its columns, and what happens on a deletion. */
  references: string[];
}
type Schema = Record<string, Shape>;

const text = (cell: unknown): string => (typeof cell === "string" ? cell : String(cell));
const isOurs = (table: string): boolean => !table.startsWith("_") && !table.startsWith("sqlite_");

/** Names of one kind of content in both databases. SQLite keeps steps and counts in one type of 64 bits. */
const KINDS: Readonly<Record<string, string>> = {
  TEXT: "text",
  text: "text",
  INTEGER: "whole",
  BIGINT: "large",
  integer: "whole",
  bigint: "large",
  REAL: "real",
  "double precision": "real",
  DATETIME: "time",
  "timestamp without time zone": "time",
  BOOLEAN: "yes or no",
  boolean: "yes or no",
  BLOB: "bytes",
  bytea: "bytes",
};
const kindOf = (type: string): string => KINDS[type] ?? `unknown: ${type}`;

async function readSqlite(): Promise<Schema> {
  const client = await connect(":memory:");
  await migrate(client, await readMigrations());
  const rowsOf = async (sql: string): Promise<unknown[][]> => {
    const { rows, columns } = await client.execute(sql);
    return rows.map((row) => columns.map((_, index) => row[index]));
  };
  const schema: Schema = {};
  for (const [name] of await rowsOf(`SELECT name FROM sqlite_master WHERE type = 'table'`)) {
    const table = text(name);
    if (!isOurs(table)) continue;
    const columns: Shape["columns"] = {};
    const key: [number, string][] = [];
    for (const [, column, type, notNull, usual, place] of await rowsOf(`PRAGMA table_info("${table}")`)) {
      const isKey = Number(place) > 0;
      if (isKey) key.push([Number(place), text(column)]);
      columns[text(column)] = {
        type: kindOf(text(type)),
        isNullable: Number(notNull) === 0 && !isKey,
        hasDefault: usual !== null,
      };
    }
    const indexes: string[] = [];
    for (const [, index, isUnique, origin] of await rowsOf(`PRAGMA index_list("${table}")`)) {
      if (origin === "pk") continue;
      const parts = await rowsOf(`PRAGMA index_xinfo("${text(index)}")`);
      const inOrder = parts
        .filter((part) => Number(part[5]) === 1)
        .map((part) => `${text(part[2])}${Number(part[3]) === 1 ? " desc" : ""}`);
      indexes.push(`${Number(isUnique) === 1 ? "unique" : "index"} ${inOrder.join(", ")}`);
    }
    const references = new Map<string, { from: string[]; to: string[]; table: string; onDelete: string }>();
    for (const [id, , target, from, to, , onDelete] of await rowsOf(`PRAGMA foreign_key_list("${table}")`)) {
      const one = references.get(text(id)) ?? { from: [], to: [], table: text(target), onDelete: text(onDelete) };
      one.from.push(text(from));
      one.to.push(text(to));
      references.set(text(id), one);
    }
    schema[table] = {
      columns,
      primaryKey: key.toSorted(([a], [b]) => a - b).map(([, column]) => column),
      indexes: indexes.toSorted(),
      references: [...references.values()]
        .map((one) => `${one.from.join(", ")} -> ${one.table}(${one.to.join(", ")}) ${one.onDelete.toLowerCase()}`)
        .toSorted(),
    };
  }
  client.close();
  return schema;
}

const ACTIONS: Readonly<Record<string, string>> = {
  a: "no action",
  r: "restrict",
  c: "cascade",
  n: "set null",
  d: "set default",
};
const NAMES_OF = (numbers: string, relation: string): string =>
  `(SELECT array_agg(a.attname::text ORDER BY k.place) FROM unnest(${numbers}) WITH ORDINALITY AS k(number, place)
    JOIN pg_attribute a ON a.attrelid = ${relation} AND a.attnum = k.number)`;

async function readPostgres(client: Client): Promise<Schema> {
  const schema: Schema = {};
  const columns = await client.query<{ table: string; name: string; type: string; nullable: string; usual: string }>(
    `SELECT table_name AS table, column_name AS name, data_type AS type, is_nullable AS nullable, column_default AS usual
      FROM information_schema.columns WHERE table_schema = 'public'`,
  );
  for (const { table, name, type, nullable, usual } of columns.rows) {
    if (!isOurs(table)) continue;
    const shape = (schema[table] ??= { columns: {}, primaryKey: [], indexes: [], references: [] });
    // SQLite numbers such a key by itself.
    const isNumbered = usual !== null && usual.startsWith("nextval(");
    shape.columns[name] = {
      type: kindOf(type),
      isNullable: nullable === "YES",
      hasDefault: usual !== null && !isNumbered,
    };
  }
  const indexes = await client.query<{
    table: string;
    unique: boolean;
    primary: boolean;
    columns: string[];
    order: string;
  }>(
    `SELECT t.relname AS table, i.indisunique AS unique, i.indisprimary AS primary, i.indoption::text AS order,
      ${NAMES_OF("i.indkey::smallint[]", "t.oid")} AS columns
      FROM pg_index i JOIN pg_class t ON t.oid = i.indrelid WHERE t.relnamespace = 'public'::regnamespace`,
  );
  for (const row of indexes.rows) {
    const shape = schema[row.table];
    if (shape === undefined) continue;
    const orders = row.order.split(" ");
    const parts = row.columns.map((column, place) => `${column}${(Number(orders[place]) & 1) === 1 ? " desc" : ""}`);
    if (row.primary) shape.primaryKey = row.columns;
    else shape.indexes.push(`${row.unique ? "unique" : "index"} ${parts.join(", ")}`);
  }
  const references = await client.query<{
    table: string;
    target: string;
    from: string[];
    to: string[];
    action: string;
  }>(
    `SELECT t.relname AS table, f.relname AS target, c.confdeltype AS action,
      ${NAMES_OF("c.conkey", "c.conrelid")} AS from, ${NAMES_OF("c.confkey", "c.confrelid")} AS to
      FROM pg_constraint c JOIN pg_class t ON t.oid = c.conrelid JOIN pg_class f ON f.oid = c.confrelid
      WHERE c.contype = 'f' AND t.relnamespace = 'public'::regnamespace`,
  );
  for (const { table, target, from, to, action } of references.rows) {
    const words = `${from.join(", ")} -> ${target}(${to.join(", ")}) ${ACTIONS[action] ?? action}`;
    schema[table]?.references.push(words);
  }
  for (const shape of Object.values(schema)) {
    shape.indexes.sort();
    shape.references.sort();
  }
  return schema;
}

describe.skipIf(server === undefined)("the two folders of migrations", () => {
  const name = `schema_${process.pid}_${Date.now()}`;
  const administer = async (sql: string): Promise<void> => {
    const client = new Client({ connectionString: server });
    await client.connect();
    await client.query(sql);
    await client.end();
  };
  let client: Client;
  beforeAll(async () => {
    await administer(`CREATE DATABASE "${name}"`);
    const url = new URL(server ?? "");
    url.pathname = `/${name}`;
    client = new Client({ connectionString: url.href });
    await client.connect();
    await migratePostgres(client, await readMigrations(FOLDER));
  });
  afterAll(async () => {
    await client.end();
    await administer(`DROP DATABASE "${name}" WITH (FORCE)`);
  });

  test("mean the same tables: columns, keys, indexes and references", async () => {
    const sqlite = await readSqlite();
    expect(Object.keys(sqlite).length).toBeGreaterThan(60);
    expect(await readPostgres(client)).toEqual(sqlite);
  });

  test("text sorts by its bytes in every column, whatever the database was created with", async () => {
    const { rows } = await client.query(
      `SELECT table_name, column_name FROM information_schema.columns
        WHERE table_schema = 'public' AND data_type = 'text' AND collation_name IS DISTINCT FROM 'C' AND table_name NOT LIKE '\\_%'`,
    );
    expect(rows).toEqual([]);
  });

  test("a migration that fails leaves nothing of those before it, and says which", async () => {
    const after = [
      { name: "0998_fine", sql: 'CREATE TABLE "Fine" (a INTEGER)' },
      { name: "0999_broken", sql: 'CREATE TABLE "Fine" (a INTEGER)' },
    ];
    await expect(migratePostgres(client, [...(await readMigrations(FOLDER)), ...after])).rejects.toThrow(
      "Migration 0999_broken failed; the database is as it was before.",
    );
    expect((await client.query(`SELECT to_regclass('"Fine"') AS "fine"`)).rows).toEqual([{ fine: null }]);
  });

  test("a database of a newer version is refused, and so is a changed migration", async () => {
    const known = await readMigrations(FOLDER);
    await expect(migratePostgres(client, [])).rejects.toThrow("newer version of Tidemark (0045_lines)");
    await expect(
      migratePostgres(
        client,
        known.map((one) => ({ ...one, sql: `${one.sql} ` })),
      ),
    ).rejects.toThrow("Migration 0045_lines is not the one this database was made with.");
    expect(await migratePostgres(client, known)).toEqual([]);
  });
});
