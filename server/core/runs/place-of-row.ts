import { shownPlace, type CheckpointPlace, type ShownPlace } from "#protocol/checkpoint/place.ts";

/** Returns the `place` column for a manifest's place; null when it has none. */
export const placeToStore = (place: CheckpointPlace | undefined): string | null =>
  place === undefined ? null : JSON.stringify(shownPlace.parse(place));

/** Returns the place in a row; null when it has none or cannot be read. */
export function placeOfRow({ place }: { place: string | null }): ShownPlace | null {
  if (place === null) return null;
  try {
    return shownPlace.safeParse(JSON.parse(place)).data ?? null;
  } catch {
    return null;
  }
}

/** Returns the place for an answer to a node; the field is absent when there is none. */
export function placeIn(row: { place: string | null }): { place?: ShownPlace } {
  const place = placeOfRow(row);
  return place === null ? {} : { place };
}
