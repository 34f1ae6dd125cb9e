import { matchWords } from "#protocol/base/match-words.ts";

interface Findable {
  text: string;
  /** Further words that match the entry. */
  also?: string | undefined;
  /** Sorts the entry after all others, because it matches any text. */
  place?: "last";
}

/** Scores an entry. Its further words count as if they preceded its text. Null when it does not match. */
function scoreOf({ text, also }: Findable, typed: string): number | null {
  const own = matchWords(text, typed);
  if (also === undefined) return own;
  const all = matchWords(`${also} ${text}`, typed);
  return own === null || all === null ? (own ?? all) : Math.max(own, all);
}

/** Returns the best `most` entries, best first; equal scores keep their order. */
export function bestMatches<Entry extends Findable>(entries: readonly Entry[], typed: string, most: number): Entry[] {
  return entries
    .map((entry, order) => ({
      entry,
      order,
      score: scoreOf(entry, typed),
    }))
    .filter((one) => one.score !== null)
    .sort(
      (a, b) =>
        Number(a.entry.place === "last") - Number(b.entry.place === "last") ||
        (b.score ?? 0) - (a.score ?? 0) ||
        a.order - b.order,
    )
    .slice(0, most)
    .map((one) => one.entry);
}
