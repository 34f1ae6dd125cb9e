/**
 * Where the transfers that move now stand in their list. One that has ended keeps its place for a moment, so that its end is
 * seen, and then gives it to the next one: nothing else moves for it, however many begin and end.
 */

interface Places {
  /** The list as it is shown. */
  before: readonly string[];
  /** What moves now, those that began first in front. */
  moving: readonly string[];
  /** Ended a moment ago. */
  ended: ReadonlySet<string>;
  /** At most so many are shown. */
  most: number;
}

/** The list as it is to be shown: of those that ended, only ones that stood in it. */
export function keepPlaces({ before, moving, ended, most }: Places): readonly string[] {
  const isMoving = new Set(moving);
  const stood = new Set(before);
  const next = moving.filter((id) => !stood.has(id))[Symbol.iterator]();
  const takeNext = (): string | undefined => next.next().value;
  const filled = before.slice(0, most).map((id) => (isMoving.has(id) || ended.has(id) ? id : takeNext()));
  const places = filled
    .map((id) => (id !== undefined && !isMoving.has(id) ? (takeNext() ?? id) : id))
    .filter((id) => id !== undefined);
  for (let id = takeNext(); id !== undefined && places.length < most; id = takeNext()) places.push(id);
  return places;
}
