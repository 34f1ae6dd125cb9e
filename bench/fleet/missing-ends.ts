import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Client } from "pg";

/** The database of a stopped hub: the file in its data folder, or PostgreSQL at `url`. */
export interface FleetDatabase {
  dataDir: string;
  url: string | null;
}

const ENDED = `SELECT "id" FROM "Transfer" WHERE "state" = 'done'`;

async function readEnded({ dataDir, url }: FleetDatabase): Promise<Set<string>> {
  if (url !== null) {
    const client = new Client({ connectionString: url });
    await client.connect();
    try {
      const { rows } = await client.query<{ id: string }>(ENDED);
      return new Set(rows.map(({ id }) => id));
    } finally {
      await client.end();
    }
  }
  const database = new DatabaseSync(join(dataDir, "hub.db"), { readOnly: true });
  try {
    const rows = database.prepare(ENDED).all();
    return new Set(rows.map((row) => String(row["id"])));
  } finally {
    database.close();
  }
}

/** Returns the transfers whose ends the hub acknowledged but did not record, by its database. */
export async function missingEnds(database: FleetDatabase, acknowledged: ReadonlySet<string>): Promise<string[]> {
  const ended = await readEnded(database);
  return [...acknowledged].filter((id) => !ended.has(id));
}
