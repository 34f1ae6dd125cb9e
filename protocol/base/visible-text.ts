/** Control characters, unpaired surrogates, and characters that are invisible or change the direction of text. */
const HIDDEN =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

const escapeOf = (sign: string): string => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`;

/** Makes untrusted text safe to show: escapes characters that are invisible or would reorder the rest. */
export const visibleText = (text: string): string => text.replace(HIDDEN, escapeOf);

/** Does the same but leaves line feeds and tabs as they are. */
export const visibleLines = (text: string): string =>
  text.replace(HIDDEN, (sign) => (sign === "\n" || sign === "\t" ? sign : escapeOf(sign)));

/** Text for a person: one line, or several. A line break in a line comes from a name, never from its writer. */
export type Said = string | readonly string[];

/** Makes untrusted text safe to show in lines: a name with a line break in it begins no line of its own. */
export const saidLines = (said: Said): string => (typeof said === "string" ? [said] : said).map(visibleText).join("\n");

/** Makes text visible and cuts it to at most `most` characters. */
export function visibleStart(text: string, most: number): string {
  const shown = visibleText(text.slice(0, most));
  return text.length > most || shown.length > most ? `${shown.slice(0, most - 1)}…` : shown;
}
