/**
 * Rows in a scroll area of any height. Browsers cap how high an element may be, at some 16 or 33 million pixels: past
 * MOST_HEIGHT the bar stands for all rows in proportion, and the rows on the screen are put where the bar is.
 */

export const ROW_HEIGHT = 34;
const MOST_HEIGHT = 8_000_000;
const SPARE_ROWS = 6;

export interface TallView {
  /** Of the element that makes the bar. */
  height: number;
  first: number;
  /** One past the last row that is drawn. */
  end: number;
  /** Where the first drawn row stands in that element. */
  top: number;
}

interface Seen {
  count: number;
  scrollTop: number;
  screenHeight: number;
}

export function tallView({ count, scrollTop, screenHeight }: Seen): TallView {
  const full = count * ROW_HEIGHT;
  const height = Math.min(full, MOST_HEIGHT);
  const room = Math.max(1, height - screenHeight);
  const share = Math.min(1, Math.max(0, scrollTop / room));
  // In rows, with its fraction: where the upper edge of the screen is.
  const edge = full <= MOST_HEIGHT ? scrollTop / ROW_HEIGHT : (share * (full - screenHeight)) / ROW_HEIGHT;
  // Rows above the screen have their place only where the bar leaves room for them.
  const spare = Math.min(SPARE_ROWS, Math.floor(scrollTop / ROW_HEIGHT));
  const first = Math.min(Math.max(0, count - 1), Math.max(0, Math.floor(edge) - spare));
  const top = Math.max(0, scrollTop - (edge - first) * ROW_HEIGHT);
  const fitting = first + Math.ceil((height - top) / ROW_HEIGHT - 0.01);
  const end = Math.min(count, fitting, Math.ceil(edge + screenHeight / ROW_HEIGHT) + SPARE_ROWS);
  return { height, first, end: Math.max(first, end), top };
}

/** How the bar has to stand for a row to be seen; null when it is seen already. */
export function scrollTo(index: number, seen: Seen): number | null {
  const { count, scrollTop, screenHeight } = seen;
  const full = count * ROW_HEIGHT;
  const height = Math.min(full, MOST_HEIGHT);
  const scale = full <= MOST_HEIGHT ? 1 : (height - screenHeight) / (full - screenHeight);
  const upper = scrollTop / scale;
  const at = index * ROW_HEIGHT;
  if (at >= upper && at + ROW_HEIGHT <= upper + screenHeight) return null;
  const wanted = at < upper ? at : at + ROW_HEIGHT - screenHeight;
  return Math.max(0, wanted * scale);
}
