/** Patterns of runs as a person types them. The hub reads them again. */
const PATTERN = /^[A-Za-z0-9._*?-]{1,128}$/;

const wordsOf = (text: string): string[] => text.split(/[\s,]+/).filter((one) => one !== "");

/** Returns what is said of patterns that are none; undefined where they are, or where there are none. */
export function runPatternsWrong(text: string): string | undefined {
  const words = wordsOf(text);
  if (words.length > 16) return "16 patterns at most";
  return words.every((word) => PATTERN.test(word))
    ? undefined
    : "letters, digits, '.', '_', '-', '*' and '?', with commas between patterns";
}

/** Returns the patterns with commas between them; null where there are none. */
export function readRunPatterns(text: string): string | null {
  const words = wordsOf(text);
  return words.length === 0 ? null : words.join(",");
}
