/**
 * Computes virtual rows in a scroll area of any height. Browsers cap the height of an element at 16 to 33 million pixels.
 * Above MOST_HEIGHT the scroll bar is proportional to all rows, and the visible rows are placed at the scroll position.
 */

export const ROW_HEIGHT = 34;
const MOST_HEIGHT = 8_000_000;
const SPARE_ROWS = 6;

export interface TallView {
  /** Height of the element inside the scroll area, in pixels. */
  height: number;
  first: number;
  /** One past the last drawn row. */
  end: number;
  /** Offset of the first drawn row in that element, in pixels. */
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
  // Row at the upper edge of the screen, with its fraction.
  const edge = full <= MOST_HEIGHT ? scrollTop / ROW_HEIGHT : (share * (full - screenHeight)) / ROW_HEIGHT;
  // Near the top there is no space for spare rows above the screen.
  const spare = Math.min(SPARE_ROWS, Math.floor(scrollTop / ROW_HEIGHT));
  const first = Math.min(Math.max(0, count - 1), Math.max(0, Math.floor(edge) - spare));
  const top = Math.max(0, scrollTop - (edge - first) * ROW_HEIGHT);
  const fitting = first + Math.ceil((height - top) / ROW_HEIGHT - 0.01);
  const end = Math.min(count, fitting, Math.ceil(edge + screenHeight / ROW_HEIGHT) + SPARE_ROWS);
  return { height, first, end: Math.max(first, end), top };
}

/** Returns the scroll position that makes a row visible; null when it is visible. */
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
