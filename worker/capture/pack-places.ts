/** Positions of files that stand one behind another in a pack. Pure. */

/** Returns where each file begins in the pack. */
export function startsOf(files: readonly { length: number }[]): number[] {
  const starts: number[] = [];
  let total = 0;
  for (const { length } of files) {
    starts.push(total);
    total += length;
  }
  return starts;
}

/** Returns the index of the file that holds this byte; of several that begin there, the last. */
export function fileAt(starts: readonly number[], position: number): number {
  let [low, high] = [0, starts.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((starts[middle] ?? 0) <= position) low = middle;
    else high = middle - 1;
  }
  return low;
}
