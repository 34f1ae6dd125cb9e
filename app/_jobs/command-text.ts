/** Reads and writes a command with its arguments as one line, as a POSIX shell does, without executing anything. */

const PLAIN = /^[A-Za-z0-9_@%+=:,./-]+$/;

const quoted = (word: string): string => (PLAIN.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`);

/** Returns the words as one line that a shell reads back as the same words. */
export const writeCommand = (words: readonly string[]): string => words.map(quoted).join(" ");

/** Returns the words of a line; null when a quotation is not closed. Variables and patterns stay as they are written. */
export function readCommand(line: string): string[] | null {
  const words: string[] = [];
  let word: string | null = null;
  let quote: '"' | "'" | null = null;
  for (let at = 0; at < line.length; at++) {
    const sign = line.charAt(at);
    const next = line.charAt(at + 1);
    if (quote !== null) {
      if (sign === quote) quote = null;
      else if (sign === "\\" && quote === '"' && ["\\", '"', "$", "`"].includes(next)) {
        word = (word ?? "") + next;
        at++;
      } else word = (word ?? "") + sign;
    } else if (sign === '"' || sign === "'") {
      quote = sign;
      word ??= "";
    } else if (sign === "\\") {
      if (next === "") return null;
      word = (word ?? "") + next;
      at++;
    } else if (/\s/.test(sign)) {
      if (word !== null) words.push(word);
      word = null;
    } else word = (word ?? "") + sign;
  }
  if (quote !== null) return null;
  return word === null ? words : [...words, word];
}
