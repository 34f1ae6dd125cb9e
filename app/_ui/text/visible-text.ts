/**
 * Names, keys and paths come from strangers. React keeps them from becoming markup; this keeps them from lying to the
 * eye: control, bidirectional-override, zero-width and lone-surrogate characters are shown as escapes, never obeyed.
 */

const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\u115f\u1160\u3164\uffa0]|\u034f|\u17b4|\u17b5|\p{Variation_Selector}/gu;

/** The text with every character that cannot be seen, or changes the order of others, written as `\u{202e}`. */
export const visibleText = (text: string): string =>
  text.replace(UNSEEN, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);

/** The middle of a long text left out, the end kept: ends of keys and paths tell them apart. */
export function shortText(text: string, longest: number): string {
  const shown = visibleText(text);
  if (shown.length <= longest) return shown;
  const head = Math.ceil((longest - 1) / 3);
  return `${shown.slice(0, head)}…${shown.slice(shown.length - (longest - 1 - head))}`;
}
