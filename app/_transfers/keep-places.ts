/**
 * Keeps moving transfers at their places in the list. An ended transfer stays for a while, so that its end is seen. A new
 * transfer then takes its place, and no other row moves.
 */

interface Places {
  /** Ids in the list as currently shown. */
  before: readonly string[];
  /** Ids of moving transfers, in the order of their start. */
  moving: readonly string[];
  /** Ids of transfers that ended recently. */
  ended: ReadonlySet<string>;
  /** Most rows shown. */
  most: number;
}

/** Returns the list to show. Ended transfers stay only when they were in it. */
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
