/**
 * Names, keys and paths come from strangers. React keeps them from becoming markup; this keeps them from lying to the
 * eye: control, bidirectional-override, zero-width and lone-surrogate characters are shown as escapes, never obeyed.
 */

const UNSEEN =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb]|[\u{e0000}-\u{e0fff}]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/gu;

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
