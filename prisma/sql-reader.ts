/** A connection that reads rows without Prisma: the thread of history reads more than Prisma's objects have room for. */
export interface SqlReader {
  /** `?` stands for an argument. A `Date` is an argument for a column with a date; such columns come back as epoch ms. */
  execute(
    statement: string | { sql: string; args: (string | number | null | Date)[] },
  ): Promise<{ rows: readonly ArrayLike<unknown>[] }>;
}

/** SQL for the days since 1970 of a column with a date, by the database. */
export const DAY_OF = {
  sqlite: (column: string): string => `CAST(${column} / 86400000 AS INTEGER)`,
  postgres: (column: string): string => `CAST(floor(extract(epoch FROM ${column}) / 86400) AS INTEGER)`,
} as const;

export interface OpenedReader {
  client: SqlReader;
  /** One of `DAY_OF`. */
  day: (column: string) => string;
  close: () => Promise<void>;
}
