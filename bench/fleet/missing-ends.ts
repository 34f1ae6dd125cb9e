import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

/** Returns the transfers whose ends the hub acknowledged but did not record, by its database file. */
export function missingEnds(dataDir: string, acknowledged: ReadonlySet<string>): string[] {
  const database = new DatabaseSync(join(dataDir, "hub.db"), { readOnly: true });
  try {
    const rows = database.prepare(`SELECT "id" FROM "Transfer" WHERE "state" = 'done'`).all();
    const ended = new Set(rows.map((row) => String(row["id"])));
    return [...acknowledged].filter((id) => !ended.has(id));
  } finally {
    database.close();
  }
}
