/** How well an entry fits what was typed; null when it does not. Every word typed must be somewhere in the text. */
export function matchScore(text: string, typed: string): number | null {
  const low = text.toLowerCase();
  let score = 0;
  for (const word of typed.toLowerCase().split(/\s+/)) {
    if (word === "") continue;
    const at = low.indexOf(word);
    if (at === -1) return null;
    const startsWord = at === 0 || !/[a-z0-9]/.test(low[at - 1] ?? "");
    score += (at === 0 ? 4 : startsWord ? 3 : 1) + word.length / low.length;
  }
  return score;
}

/** The best `most` entries, best first; equal ones keep their order. */
export function bestMatches<Entry extends { text: string }>(
  entries: readonly Entry[],
  typed: string,
  most: number,
): Entry[] {
  return entries
    .map((entry, order) => ({ entry, order, score: matchScore(entry.text, typed) }))
    .filter((one) => one.score !== null)
    .sort((a, b) => (b.score ?? 0) - (a.score ?? 0) || a.order - b.order)
    .slice(0, most)
    .map((one) => one.entry);
}
