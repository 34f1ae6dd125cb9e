import type { Database } from "#prisma/open.ts";
import { openReader } from "./reader/open-reader.ts";
import { openPlaces } from "./places.ts";
import { loadRates } from "./rate-memory.ts";
import { readRules } from "./regions.ts";
import type { History } from "../api/ports/history.ts";

/** Opens history. `url` is the address of the database, `thread` the module of the worker thread that reads history. */
export async function openHistory(db: Database, { url, thread }: { url: string; thread: URL }): Promise<History> {
  const places = await openPlaces(db);
  const rates = await loadRates(db, places);
  return { places, rates, reader: openReader(url, thread), rules: await readRules(db) };
}
