/**
 * The index: names and metadata in one SQLite file beside the blobs; its B-tree keeps keys in order. A change is atomic
 * even if the process is killed. Text sorts by its UTF-8 bytes, as S3 lists keys. A folder belongs to one process; a
 * second one is refused.
 */
import { DatabaseSync, type SQLInputValue, type SQLOutputValue, type StatementSync } from "node:sqlite";

/** One result row. */
export type Row = Readonly<Record<string, SQLOutputValue>>;

/** An open index. */
export type Database = {
  /** Compiles a statement and caches it. */
  readonly prepare: (sql: string) => StatementSync;
  /** Runs `work` as one atomic change. */
  readonly transaction: <T>(work: () => T) => T;
  readonly close: () => void;
};

/** Durability of commits: `power-cut` syncs every commit, `process-kill` leaves syncing to the operating system. */
export type Durability = "power-cut" | "process-kill";

const SCHEMA = `
CREATE TABLE IF NOT EXISTS buckets (
  name TEXT PRIMARY KEY, created_ms INTEGER NOT NULL, cors TEXT
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS objects (
  bucket TEXT NOT NULL, key TEXT NOT NULL, id TEXT NOT NULL, size INTEGER NOT NULL, etag TEXT NOT NULL,
  modified_ms INTEGER NOT NULL, headers TEXT NOT NULL, checksum TEXT, PRIMARY KEY (bucket, key)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS versioned (bucket TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS versions (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, bucket TEXT NOT NULL, key TEXT NOT NULL, id TEXT NOT NULL, size INTEGER NOT NULL,
  etag TEXT NOT NULL, modified_ms INTEGER NOT NULL, headers TEXT NOT NULL, checksum TEXT, marker INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS versions_by_key ON versions (bucket, key, seq);
CREATE TABLE IF NOT EXISTS segments (
  object_id TEXT NOT NULL, part INTEGER NOT NULL, blob TEXT NOT NULL, size INTEGER NOT NULL, checksum TEXT,
  PRIMARY KEY (object_id, part)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS segments_by_blob ON segments (blob);
CREATE TABLE IF NOT EXISTS uploads (
  bucket TEXT NOT NULL, key TEXT NOT NULL, id TEXT NOT NULL, started_ms INTEGER NOT NULL, headers TEXT NOT NULL,
  algorithm TEXT, type TEXT, PRIMARY KEY (bucket, key, id)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS parts (
  upload_id TEXT NOT NULL, number INTEGER NOT NULL, blob TEXT NOT NULL, size INTEGER NOT NULL, md5 TEXT NOT NULL,
  modified_ms INTEGER NOT NULL, algorithm TEXT, checksum TEXT, PRIMARY KEY (upload_id, number)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS parts_by_blob ON parts (blob);
CREATE TABLE IF NOT EXISTS garbage (blob TEXT PRIMARY KEY) WITHOUT ROWID;
`;

/** Opens or creates the index file. `path` may be `:memory:`. */
export function openDatabase(path: string, durability: Durability): Database {
  const sqlite = new DatabaseSync(path);
  sqlite.exec("PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA temp_store = MEMORY;");
  sqlite.exec(`PRAGMA synchronous = ${durability === "power-cut" ? "FULL" : "NORMAL"};`);
  sqlite.exec(SCHEMA);
  const statements = new Map<string, StatementSync>();
  const prepare = (sql: string): StatementSync => {
    const known = statements.get(sql);
    if (known !== undefined) return known;
    const statement = sqlite.prepare(sql);
    statements.set(sql, statement);
    return statement;
  };
  return {
    prepare,
    transaction(work) {
      sqlite.exec("BEGIN IMMEDIATE");
      try {
        const result = work();
        sqlite.exec("COMMIT");
        return result;
      } catch (error) {
        sqlite.exec("ROLLBACK");
        throw error;
      }
    },
    close: () => sqlite.close(),
  };
}

/** Returns all rows of a query. */
export function allRows(database: Database, sql: string, values: readonly SQLInputValue[] = []): readonly Row[] {
  return database.prepare(sql).all(...values);
}

/** Returns the first row of a query. */
export function firstRow(database: Database, sql: string, values: readonly SQLInputValue[]): Row | undefined {
  return database.prepare(sql).get(...values);
}

/** Runs a change; returns the number of changed rows. */
export function change(database: Database, sql: string, values: readonly SQLInputValue[]): number {
  return Number(database.prepare(sql).run(...values).changes);
}

/** Returns a text column. */
export function textOf(row: Row, column: string): string {
  const value = row[column];
  if (typeof value !== "string") throw new TypeError(`column ${column} holds no text`);
  return value;
}

/** Returns a text column that may be null. */
export function optionalTextOf(row: Row, column: string): string | undefined {
  const value = row[column];
  return typeof value === "string" ? value : undefined;
}

/** Returns an integer column. */
export function numberOf(row: Row, column: string): number {
  const value = row[column];
  if (typeof value !== "number") throw new TypeError(`column ${column} holds no number`);
  return value;
}

/** Returns a JSON column that holds an object of texts. */
export function headersOf(row: Row, column: string): Readonly<Record<string, string>> {
  const parsed: unknown = JSON.parse(textOf(row, column));
  if (typeof parsed !== "object" || parsed === null) throw new TypeError(`column ${column} holds no object`);
  return Object.fromEntries(Object.entries(parsed).map(([name, value]) => [name, String(value)]));
}
