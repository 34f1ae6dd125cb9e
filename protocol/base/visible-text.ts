/** Control characters, and marks that turn the direction of writing around or hide in it. */
const HIDDEN =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

const escapeOf = (sign: string): string => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`;

/** A stranger's text as people may be shown it: what cannot be seen, or would turn the rest around, as escapes. */
export const visibleText = (text: string): string => text.replace(HIDDEN, escapeOf);

/** The same with line feeds and tabs left as they are. */
export const visibleLines = (text: string): string =>
  text.replace(HIDDEN, (sign) => (sign === "\n" || sign === "\t" ? sign : escapeOf(sign)));

/** Visible, and no longer than `most` characters. */
export function visibleStart(text: string, most: number): string {
  const shown = visibleText(text.slice(0, most));
  return text.length > most || shown.length > most ? `${shown.slice(0, most - 1)}…` : shown;
}
