/**
 * Shows deceptive characters as escapes: control, bidirectional-override, zero-width and lone-surrogate characters. Names,
 * keys and paths come from strangers, and React only escapes markup.
 */

const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\u115f\u1160\u3164\uffa0]|\u034f|\u17b4|\u17b5|\p{Variation_Selector}/gu;

/** Returns the text with every invisible or reordering character written as an escape such as `\u{202e}`. */
export const visibleText = (text: string): string =>
  text.replace(UNSEEN, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);

/** Shortens a long text in the middle and keeps its end, because keys and paths differ at the end. */
export function shortText(text: string, longest: number): string {
  const shown = visibleText(text);
  if (shown.length <= longest) return shown;
  const head = Math.ceil((longest - 1) / 3);
  return `${shown.slice(0, head)}…${shown.slice(shown.length - (longest - 1 - head))}`;
}
