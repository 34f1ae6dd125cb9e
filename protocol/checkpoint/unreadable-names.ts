import { formatCount } from "../base/units.ts";
import { visibleText } from "../base/visible-text.ts";

const MOST_NAMED = 3;

/** Describes names of a listing that are not valid UTF-8, which no request can ask for: their number and the first of them. */
export function unreadableWords(first: readonly string[], count: number = first.length): string {
  const names = first.slice(0, MOST_NAMED);
  const more = count > names.length ? ` and ${formatCount(count - names.length)} more` : "";
  const many = `${formatCount(count)} name${count === 1 ? " is" : "s are"}`;
  return `${many} not valid UTF-8: ${names.map(visibleText).join(", ")}${more}`;
}

/** Says how many names of a listing came again; empty where none did. */
export const repeatedWords = (count: number): string =>
  count === 0 ? "" : `The store listed ${formatCount(count)} name${count === 1 ? "" : "s"} again; each counts once.`;
