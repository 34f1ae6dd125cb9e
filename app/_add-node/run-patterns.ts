/** Patterns of run names as typed. The hub validates them again. */
const PATTERN = /^[A-Za-z0-9._*?-]{1,128}$/;

const wordsOf = (text: string): string[] => text.split(/[\s,]+/).filter((one) => one !== "");

/** Returns why the patterns are invalid; undefined when they are valid or empty. */
export function runPatternsWrong(text: string): string | undefined {
  const words = wordsOf(text);
  if (words.length > 16) return "16 patterns at most";
  return words.every((word) => PATTERN.test(word))
    ? undefined
    : "letters, digits, '.', '_', '-', '*' and '?', with commas between patterns";
}

/** Returns the patterns joined by commas; null when there are none. */
export function readRunPatterns(text: string): string | null {
  const words = wordsOf(text);
  return words.length === 0 ? null : words.join(",");
}
