import { createFilePlace } from "#prisma/copy/file-place.ts";
import type { Place } from "#prisma/copy/place.ts";
import type { Fault } from "#protocol/faults/fault.ts";
import type { PostgresSettings } from "#server/platform/settings/read-postgres.ts";

/** Name of the database file in a data folder. */
export const DATABASE = "hub.db";

/** How long a command waits for another one to unlock a database or a folder. */
export const LOCK_WAIT_MS = 3_000;

/** Finds a hub's database: PostgreSQL where it is set, otherwise the file in the data folder. */
export interface DatabaseAt {
  dataFolder: string;
  postgres: PostgresSettings | null;
}

/** Returns the database of a hub. `onTaken` is called when another hub takes it while it is locked. */
export async function openPlace({ dataFolder, postgres }: DatabaseAt, onTaken: (fault: Fault) => void): Promise<Place> {
  if (postgres === null) return createFilePlace(dataFolder, DATABASE);
  // Loaded only here, as in the hub.
  const { createPostgresPlace } = await import("#prisma/postgres/postgres-place.ts");
  return createPostgresPlace(postgres, { waitMs: LOCK_WAIT_MS, onTaken });
}
