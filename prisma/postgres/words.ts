import { Prisma } from "../client/client.ts";
import { DAY_OF } from "../sql-reader.ts";
import type { SqlWords } from "../sql-words.ts";

const TYPES = { text: "text", number: "bigint", time: "bigint" } as const;

/** The words of PostgreSQL; see `../sql-words.ts`. */
export const POSTGRES_WORDS: SqlWords = {
  engine: "postgres",
  unindexed: (column) => Prisma.raw(column),
  day: DAY_OF.postgres,
  texts: (list) => Prisma.sql`(SELECT jsonb_array_elements_text(CAST(${JSON.stringify(list)} AS JSONB)))`,
  table: (columns, rows) => {
    const names = Object.entries(columns).map(([name, type]) => `"${name}" ${TYPES[type]}`);
    return {
      from: Prisma.sql`jsonb_to_recordset(CAST(${JSON.stringify(rows)} AS JSONB)) AS word(${Prisma.raw(names.join(", "))})`,
      at: (column) =>
        Prisma.raw(
          columns[column] === "time"
            ? `(TIMESTAMP 'epoch' + word."${column}" * INTERVAL '1 millisecond')`
            : `word."${column}"`,
        ),
    };
  },
  checkpointRow: Prisma.raw('"id"'),
  // No version that ran on PostgreSQL stored such numbers.
  mendNumbers: () => Promise.resolve(),
  // Rows that were replaced stay in the file until they are vacuumed; the table keeps its place and its readers.
  dropFormerContent: async (db) => {
    const tables = await db.$queryRaw<
      { name: string }[]
    >`SELECT table_name::text AS "name" FROM information_schema.columns
      WHERE table_schema = current_schema() AND column_name = 'sealed'`;
    for (const { name } of tables) await db.$executeRawUnsafe(`VACUUM "${name}"`);
  },
};
