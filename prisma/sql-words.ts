import { Prisma } from "./client/client.ts";
import type { Database, Transaction } from "./open.ts";
import { DAY_OF } from "./sql-reader.ts";

/**
 * The SQL that SQLite and PostgreSQL write differently. A raw statement names these words and is otherwise the same text for both.
 * Dates are bound as `Date`, never as numbers: each adapter stores them in its own form.
 */
export interface SqlWords {
  readonly engine: "sqlite" | "postgres";
  /** A column whose comparison leaves the planner on the index of the order. */
  unindexed(column: string): Prisma.Sql;
  /** The days since 1970 of a column with a date, as text of SQL; history, which reads without Prisma, uses it too. */
  day(column: string): string;
  /** A sub-query with these texts, for `IN`: one parameter for any number of them. */
  texts(list: readonly string[]): Prisma.Sql;
  /** Rows as a table in a statement; see `TableOfRows`. */
  table<Columns extends ColumnTypes>(columns: Columns, rows: readonly RowOf<Columns>[]): TableOfRows<Columns>;
  /** The column that finds a row of Checkpoint again at the least cost. */
  readonly checkpointRow: Prisma.Sql;
  /** Mends numbers that an earlier version stored and that the client refuses to read. */
  mendNumbers(db: Database): Promise<void>;
  /** Removes earlier versions of rows that the database still stores. */
  dropFormerContent(db: Database): Promise<void>;
}

type ColumnTypes = Readonly<Record<string, "text" | "number" | "time">>;
type RowOf<Columns extends ColumnTypes> = { [Name in keyof Columns]: string | number | null };

/** A table of a statement that updates many rows: `from` stands behind FROM, `at` reads a column of it. */
export interface TableOfRows<Columns extends ColumnTypes> {
  from: Prisma.Sql;
  at: (column: keyof Columns & string) => Prisma.Sql;
}

/** The key under which a client carries its words. Prisma hands it on to the client of a transaction. */
export const WORDS = Symbol("words of SQL");

/** Returns the words of the database behind a client, inside a transaction or not. */
export function wordsOf(db: Pick<Transaction, "$queryRaw"> | Pick<Database, "$executeRaw">): SqlWords {
  const words: unknown = Reflect.get(db, WORDS);
  if (words === undefined) throw new Error("this client of the database has no words: open it with prisma/open.ts");
  return words as SqlWords;
}

/** The latest date that JavaScript can represent, epoch ms. */
const LAST_DATE = 8_640_000_000_000_000;

export const SQLITE_WORDS: SqlWords = {
  engine: "sqlite",
  unindexed: (column) => Prisma.raw(`+${column}`),
  day: DAY_OF.sqlite,
  texts: (list) => Prisma.sql`(SELECT value FROM json_each(${JSON.stringify(list)}))`,
  table: (_, rows) => ({
    from: Prisma.sql`json_each(${JSON.stringify(rows)}) AS word`,
    at: (column) => Prisma.raw(`word.value ->> '${column}'`),
  }),
  checkpointRow: Prisma.raw('"rowid"'),
  mendNumbers: async (db) => {
    const most = Number.MAX_SAFE_INTEGER;
    await db.$executeRaw`UPDATE "Checkpoint" SET "sizeBytes" = ${most} WHERE "sizeBytes" > ${most}`;
    await db.$executeRaw`UPDATE "Transfer" SET "startedAt" = NULL WHERE "startedAt" > ${LAST_DATE}`;
  },
  // Truncates the write-ahead log, which still has the content from before.
  dropFormerContent: async (db) => {
    await db.$queryRaw`PRAGMA wal_checkpoint(TRUNCATE)`;
  },
};
