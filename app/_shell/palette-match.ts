import { matchWords } from "#protocol/base/match-words.ts";

interface Findable {
  text: string;
  /** Other words that it is found by. */
  also?: string | undefined;
  /** Stands after all others: it takes up whatever was typed. */
  place?: "last";
}

/** What it is found by beside its text counts as the beginning of it. */
function scoreOf({ text, also }: Findable, typed: string): number | null {
  const own = matchWords(text, typed);
  if (also === undefined) return own;
  const all = matchWords(`${also} ${text}`, typed);
  return own === null || all === null ? (own ?? all) : Math.max(own, all);
}

/** The best `most` entries, best first; equal ones keep their order. */
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
