/** Returns the known word closest to what was typed, or null when nothing is close. */
export function closest(typed: string, known: readonly string[]): string | null {
  let best: { word: string; distance: number } | null = null;
  const letters = sorted(typed);
  for (const word of known) {
    const apart = word.startsWith(typed) && typed.length > 1 ? 1 : distanceBetween(typed, word);
    // At equal distance, a word of the same letters wins: `rusn` is `runs`, not `run`.
    const distance = sorted(word) === letters ? apart - 0.5 : apart;
    if (best === null || distance < best.distance) best = { word, distance };
  }
  return best !== null && best.distance <= Math.max(1, Math.floor(typed.length / 2.5)) ? best.word : null;
}

const sorted = (word: string): string => Array.from(word).toSorted().join("");

/** Returns the edit distance, counting a swap of neighboring letters as one edit (optimal string alignment). */
function distanceBetween(a: string, b: string): number {
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (const [i, letter] of Array.from(a).entries()) {
    const next = [i + 1];
    for (const [j, other] of Array.from(b).entries()) {
      const change = (row[j] ?? 0) + (letter === other ? 0 : 1);
      const isSwap = i > 0 && j > 0 && letter === b[j - 1] && a[i - 1] === other;
      const swap = isSwap ? (before[j - 1] ?? 0) + 1 : Infinity;
      next.push(Math.min(change, swap, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    before = row;
    row = next;
  }
  return row.at(-1) ?? a.length;
}
