import { parseStored } from "#server/platform/stored-json.ts";

/** Longer than 256 metrics can be: a row from before they were bounded. */
const MOST_CHARACTERS = 65_536;

/**
 * Returns the metrics that a manifest came with, as they were stored when it was committed; none of a row that has more than a
 * manifest may have, or that cannot be read, so that one bad row is shown without them and no list fails for it.
 */
export function readMetrics(stored: string): Record<string, number> {
  return stored.length > MOST_CHARACTERS ? {} : ((parseStored(stored) ?? {}) as Record<string, number>);
}
