import { matchWords } from "#protocol/match-words.ts";

interface Findable {
  text: string;
  /** Other words that it is found by. */
  also?: string | undefined;
}

/** The best `most` entries, best first; equal ones keep their order. */
export function bestMatches<Entry extends Findable>(entries: readonly Entry[], typed: string, most: number): Entry[] {
  return entries
    .map((entry, order) => ({
      entry,
      order,
      score: matchWords(entry.also === undefined ? entry.text : `${entry.text} ${entry.also}`, typed),
    }))
    .filter((one) => one.score !== null)
    .sort((a, b) => (b.score ?? 0) - (a.score ?? 0) || a.order - b.order)
    .slice(0, most)
    .map((one) => one.entry);
}
