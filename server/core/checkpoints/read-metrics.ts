import { parseStored } from "#server/platform/stored-json.ts";

/** More than 256 metrics can take; rows from before the bound may be longer. */
const MOST_CHARACTERS = 65_536;

/**
 * Returns the metrics that were stored when a manifest was committed. A row that is too long or unreadable yields none, so
 * that one bad row does not fail a list.
 */
export function readMetrics(stored: string): Record<string, number> {
  return stored.length > MOST_CHARACTERS ? {} : ((parseStored(stored) ?? {}) as Record<string, number>);
}
