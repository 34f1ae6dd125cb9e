import { connect, type SqlClient } from "../connection.ts";
import { migrate, readMigrations, textOf } from "../migrate.ts";

/** The tables of the present schema, for copying whole databases. They are read from the schema, so a new table needs no line here. */

/** `whole`: an integer of up to 64 bits. */
export type Kind = "text" | "whole" | "real" | "time" | "yes or no" | "bytes";

export interface Column {
  name: string;
  kind: Kind;
}

export interface Table {
  name: string;
  columns: readonly Column[];
  /** The tables that its rows refer to. */
  refersTo: readonly string[];
  /** The column of a single integer key, which the database may number by itself; null: another key. */
  number: string | null;
}

const KINDS: Readonly<Record<string, Kind>> = {
  TEXT: "text",
  INTEGER: "whole",
  BIGINT: "whole",
  REAL: "real",
  DATETIME: "time",
  BOOLEAN: "yes or no",
  BLOB: "bytes",
};

function kindOf(declared: unknown, of: string): Kind {
  const kind = typeof declared === "string" ? KINDS[declared.toUpperCase()] : undefined;
  if (kind === undefined) throw new Error(`${of} has the type ${String(declared)}: add it to prisma/copy/tables.ts`);
  return kind;
}

/**
 * Returns tables so that each follows those that it refers to; otherwise in their order.
 * @throws Error when tables refer to each other in a circle
 */
export function inOrder(tables: readonly Table[]): Table[] {
  const ordered: Table[] = [];
  const placed = new Set<string>();
  let left = [...tables];
  while (left.length > 0) {
    const isNext = ({ name, refersTo }: Table) => refersTo.every((target) => target === name || placed.has(target));
    const next = left.filter(isNext);
    if (next.length === 0)
      throw new Error(`tables refer to each other in a circle: ${left.map(({ name }) => name).join(", ")}`);
    for (const table of next) placed.add(table.name);
    ordered.push(...next);
    left = left.filter(({ name }) => !placed.has(name));
  }
  return ordered;
}

/** Returns the tables of a database of SQLite, in the order in which rows can be inserted. */
export async function tablesOf(client: Pick<SqlClient, "execute">): Promise<Table[]> {
  const textsOf = (rows: readonly ArrayLike<unknown>[], index: number) => rows.map((row) => textOf(row[index]));
  const { rows } = await client.execute(
    `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND name NOT LIKE '\\_%' ESCAPE '\\' ORDER BY name`,
  );
  const tables: Table[] = [];
  for (const name of textsOf(rows, 0)) {
    const info = (await client.execute(`PRAGMA table_info("${name}")`)).rows;
    const columns = info.map((row) => ({ name: textOf(row[1]), kind: kindOf(row[2], `${name}.${textOf(row[1])}`) }));
    const keys = info.flatMap((row, place) => (Number(row[5]) > 0 ? (columns[place] ?? []) : []));
    const [key] = keys;
    const references = (await client.execute(`PRAGMA foreign_key_list("${name}")`)).rows;
    tables.push({
      name,
      columns,
      refersTo: [...new Set(textsOf(references, 2))],
      number: key !== undefined && keys.length === 1 && key.kind === "whole" ? key.name : null,
    });
  }
  return inOrder(tables);
}

/** Returns the tables of the present schema, in the order in which rows can be inserted. */
export async function presentTables(): Promise<Table[]> {
  const client = await connect(":memory:");
  try {
    await migrate(client, await readMigrations());
    return await tablesOf(client);
  } finally {
    client.close();
  }
}
