import { DAY_OF, type OpenedReader } from "../sql-reader.ts";
import { openPool, PLAIN_TYPES } from "./pool.ts";

const toArgument = (value: string | number | null | Date): string | number | null =>
  value instanceof Date ? value.toISOString() : value;

/** Returns a statement with the parameters of PostgreSQL in place of `?`. The statements of history have no other `?`. */
function numbered(sql: string): string {
  let count = 0;
  return sql.replaceAll("?", () => `$${(count += 1)}`);
}

/** Opens a connection that only reads. It is opened again by the next statement when it broke. */
export function openPostgresReader(url: string): OpenedReader {
  const pool = openPool({ url, directUrl: url, connections: 1 });
  return {
    day: DAY_OF.postgres,
    client: {
      execute: async (statement) => {
        const { sql, args } = typeof statement === "string" ? { sql: statement, args: [] } : statement;
        const { rows } = await pool.query<unknown[]>({
          text: numbered(sql),
          values: args.map(toArgument),
          rowMode: "array",
          types: PLAIN_TYPES,
        });
        return { rows };
      },
    },
    close: () => pool.end(),
  };
}
