/** Characters without width. Some are parts of words in other languages, but no value begins or ends with one. */
const NO_WIDTH = "[\\u00ad\\u180e\\u200b-\\u200f\\u2060-\\u2064\\ufeff]";
const ENDS_WITHOUT_WIDTH = new RegExp(`^${NO_WIDTH}|${NO_WIDTH}$`);
const ANY_WITHOUT_WIDTH = new RegExp(NO_WIDTH);

const timesIn = (value: string, sign: string): number => value.split(sign).length - 1;

/** Tells where a value has a quote that nothing closes or opens; null where it has none. */
function strayQuote(value: string): string | null {
  for (const sign of ['"', "'"]) {
    // An even number is a command that quotes one of its own arguments.
    if (timesIn(value, sign) % 2 === 0) continue;
    if (value.startsWith(sign)) return "begins with a quote that nothing closes";
    if (value.endsWith(sign)) return "ends with a quote that nothing opens";
  }
  return null;
}

/**
 * Returns what a value still has of an env file that no shell has read, as the end of a sentence that begins with "its
 * value"; null when it is plain. `docker --env-file` keeps quotes, and editors leave marks that nobody sees. `kind`: a key
 * has no character without width anywhere; a file of its own may hold a secret that begins or ends with a quote.
 */
export function remainsOfEnvFile(
  value: string,
  about: { name: string; kind?: "text" | "key" | "file of a key" },
): string | null {
  const { name, kind = "text" } = about;
  if (value.startsWith("\ufeff")) return "begins with a byte order mark";
  if (/[\r\n]$/.test(value)) return "ends with a line end, as in a file from Windows";
  if (/^\s|\s$/.test(value)) return `${/^\s/.test(value) ? "begins" : "ends"} with a space`;
  if (ENDS_WITHOUT_WIDTH.test(value)) return "begins or ends with a character that nobody sees";
  if (kind !== "text" && ANY_WITHOUT_WIDTH.test(value)) return "has a character in it that nobody sees";
  if (value.startsWith(`${name}=`) || /^export\s/.test(value)) return `is a whole line of such a file ("${name}=" too)`;
  if (value.length > 1 && /^["']/.test(value) && value.endsWith(value.charAt(0)))
    return "has quotes around it, as `docker --env-file` keeps them";
  return kind === "file of a key" ? null : strayQuote(value);
}

/** Returns the name that a variable was meant to have, where its own has remains of an env file; null where it is plain. */
export function plainNameOf(name: string): string | null {
  const [, plain = ""] = /^[\s\ufeff\u200b]*(?:(?:export|set)\s+)?["']?([A-Z][A-Z0-9_]*)["']?\s*$/.exec(name) ?? [];
  return plain === "" || plain === name ? null : plain;
}
