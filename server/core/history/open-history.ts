import type { RegionRule } from "#protocol/history/history.ts";
import type { Database } from "#prisma/open.ts";
import { openReader, type HistoryReader } from "./reader/open-reader.ts";
import { openPlaces, type Places } from "./places.ts";
import { loadRates, type RateMemory } from "./rate-memory.ts";
import { readRules } from "./regions.ts";

/** What the hub keeps in memory of its history. */
export interface History {
  readonly places: Places;
  readonly reader: HistoryReader;
  readonly rates: RateMemory;
  /** The operator's word on where nodes are. */
  rules: readonly RegionRule[];
}

/** `url`: of the database. */
export async function openHistory(db: Database, url: string): Promise<History> {
  const places = await openPlaces(db);
  const rates = await loadRates(db, places);
  return { places, rates, reader: openReader(url), rules: await readRules(db) };
}
