/**
 * Maps the progress of a transfer by bytes, not by files: a hundred small finished files count little beside a large
 * unfinished one.
 */

/** A consecutive section of a transfer: a part, a range or a file. */
export interface Stretch {
  bytes: number;
  /** Completed bytes, counted from the start of the stretch. */
  doneBytes: number;
  isMoving: boolean;
}

/** Most pieces of a map: each is at least half a percent. */
const MOST_PIECES = 200;

/** Returns a piece map (`#` done, `>` moving, `.` waiting) whose pieces have equal numbers of bytes. */
export function byteMap(stretches: readonly Stretch[]): string {
  const total = stretches.reduce((sum, { bytes }) => sum + bytes, 0);
  const count = Math.min(MOST_PIECES, total);
  const startOf = (piece: number): number => Math.floor((piece * total) / count);
  const pieceAt = (byte: number): number => {
    const near = Math.min(count - 1, Math.floor((byte * count) / total));
    return near + 1 < count && startOf(near + 1) <= byte ? near + 1 : near;
  };
  const done = Array.from({ length: count }, () => 0);
  const isMoving = Array.from({ length: count }, () => false);
  let offset = 0;
  for (const { bytes, doneBytes, ...stretch } of stretches) {
    const end = offset + Math.min(bytes, Math.max(0, doneBytes));
    for (let from = offset; from < end;) {
      const piece = pieceAt(from);
      const to = Math.min(end, startOf(piece + 1));
      done[piece] = (done[piece] ?? 0) + to - from;
      from = to;
    }
    if (stretch.isMoving && end < offset + bytes) isMoving[pieceAt(end)] = true;
    offset += bytes;
  }
  return done
    .map((bytes, piece) => (bytes >= startOf(piece + 1) - startOf(piece) ? "#" : isMoving[piece] === true ? ">" : "."))
    .join("");
}

/** Returns whole percent; 100 only when nothing is left. */
export const percentOf = (done: number, total: number): number =>
  total === 0 ? 0 : Math.min(done < total ? 99 : 100, Math.floor((done / total) * 100));
