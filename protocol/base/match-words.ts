/** Fuzzy search for text that somebody types: every word must occur, and a slightly misspelled word still matches. Pure. */

/** Returns how many edits are tolerated: none in short words, where a different word would match as well. */
const editsFor = (word: string): number => (word.length < 4 ? 0 : word.length < 8 ? 1 : 2);

/**
 * Returns the edit distance between `word` and the nearest prefix of `token`, where an edit inserts, deletes or replaces a
 * letter, or swaps two neighbors. Returns more than `most` as soon as the distance exceeds it (optimal string alignment).
 */
export function editsToBeginning(word: string, token: string, most: number): number {
  const width = Math.min(token.length, word.length + most);
  let before: number[] = [];
  let row = Array.from({ length: width + 1 }, (_, index) => index);
  for (let at = 1; at <= word.length; at++) {
    const next = [at];
    for (let to = 1; to <= width; to++) {
      const isSame = word[at - 1] === token[to - 1];
      const swaps = at > 1 && to > 1 && word[at - 1] === token[to - 2] && word[at - 2] === token[to - 1];
      next[to] = Math.min(
        (row[to] ?? most) + 1,
        (next[to - 1] ?? most) + 1,
        (row[to - 1] ?? most) + (isSame ? 0 : 1),
        swaps ? (before[to - 2] ?? most) + 1 : Infinity,
      );
    }
    if (Math.min(...next) > most) return most + 1;
    [before, row] = [row, next];
  }
  return Math.min(...row);
}

/** Returns whether each part of a word occurs in the text or is nearly the beginning of a token. Digits must match exactly. */
function isNearly(word: string, text: string, tokens: readonly string[]): boolean {
  return word
    .split(/[^\p{L}\p{N}]+/u)
    .filter((part) => part !== "")
    .every((part) => {
      if (text.includes(part)) return true;
      const most = /\p{N}/u.test(part) ? 0 : editsFor(part);
      return most > 0 && tokens.some((token) => editsToBeginning(part, token, most) <= most);
    });
}

/**
 * Returns how well a text matches what was typed, higher for better; null when a word does not occur. A word that only
 * nearly occurs scores lower than any exact occurrence.
 */
export function matchWords(text: string, typed: string): number | null {
  const low = text.toLowerCase();
  let tokens: string[] | null = null;
  let score = 0;
  for (const word of typed.toLowerCase().split(/\s+/)) {
    if (word === "") continue;
    const at = low.indexOf(word);
    if (at === -1) {
      tokens ??= low.split(/[^\p{L}]+/u);
      if (!isNearly(word, low, tokens)) return null;
      score -= 10;
      continue;
    }
    const startsWord = at === 0 || !/[a-z0-9]/.test(low[at - 1] ?? "");
    score += (at === 0 ? 4 : startsWord ? 3 : 1) + word.length / low.length;
  }
  return score;
}
