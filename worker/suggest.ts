/** The known word closest to what was typed, or null when nothing is close. */
export function closest(typed: string, known: readonly string[]): string | null {
  let best: { word: string; distance: number } | null = null;
  for (const word of known) {
    const distance = word.startsWith(typed) && typed.length > 1 ? 1 : distanceBetween(typed, word);
    if (best === null || distance < best.distance) best = { word, distance };
  }
  return best !== null && best.distance <= Math.max(1, Math.floor(typed.length / 2.5)) ? best.word : null;
}

/** Levenshtein: inserted, left out, changed letters; a swapped pair counts as two. */
function distanceBetween(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (const [i, letter] of Array.from(a).entries()) {
    const next = [i + 1];
    for (const [j, other] of Array.from(b).entries()) {
      const change = (row[j] ?? 0) + (letter === other ? 0 : 1);
      next.push(Math.min(change, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? a.length;
}
