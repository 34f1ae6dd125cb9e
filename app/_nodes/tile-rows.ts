interface Tiles {
  count: number;
  /** Of the room and of one tile at least, and what stands between two, in pixels. */
  roomWidth: number;
  leastWidth: number;
  gap: number;
}

/** How many tiles stand side by side, one at least, and in how many rows all of them. */
export function tileRows({ count, roomWidth, leastWidth, gap }: Tiles): { across: number; rows: number } {
  const across = Math.max(1, Math.floor((roomWidth + gap) / (leastWidth + gap)));
  return { across, rows: Math.ceil(count / across) };
}
