import { shownPlace, type CheckpointPlace, type ShownPlace } from "#protocol/checkpoint/place.ts";

/** Returns what a row stores of a place; null where the manifest says none. */
export const placeToStore = (place: CheckpointPlace | undefined): string | null =>
  place === undefined ? null : JSON.stringify(shownPlace.parse(place));

/** Returns the place that a row stores; null where it stores none, or one that cannot be read. */
export function placeOfRow({ place }: { place: string | null }): ShownPlace | null {
  if (place === null) return null;
  try {
    return shownPlace.safeParse(JSON.parse(place)).data ?? null;
  } catch {
    return null;
  }
}

/** Returns the place for an answer to a node: absent where there is none. */
export function placeIn(row: { place: string | null }): { place?: ShownPlace } {
  const place = placeOfRow(row);
  return place === null ? {} : { place };
}
