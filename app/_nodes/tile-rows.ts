interface Tiles {
  count: number;
  /** Width of the container, in pixels; `leastWidth` is the minimum of a tile, `gap` the space between two. */
  roomWidth: number;
  leastWidth: number;
  gap: number;
}

/** Returns how many tiles fit side by side, at least one, and the number of rows. */
export function tileRows({ count, roomWidth, leastWidth, gap }: Tiles): { across: number; rows: number } {
  const across = Math.max(1, Math.floor((roomWidth + gap) / (leastWidth + gap)));
  return { across, rows: Math.ceil(count / across) };
}
