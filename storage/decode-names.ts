/**
 * Names of a listing that says `EncodingType` url. Nearly all stores write a space as `+` then and a plus sign as `%2B`, as forms do; some
 * write `%20`, or nothing, for a space and leave a plus sign as it is. What a `+` stands for is told by the other names of the page, and
 * where these say nothing, by the store: it is asked for the first of them as it stands there.
 */

/** Reads a name; null for one that is not valid UTF-8. */
export type ReadName = (name: string) => string | null;

const readWith =
  (plus: string): ReadName =>
  (name) => {
    try {
      return decodeURIComponent(name.replaceAll("+", plus));
    } catch {
      return null;
    }
  };

/** Returns a name that is not valid UTF-8 for people: what cannot be shown of it is replaced. */
export const unreadableName = (name: string): string =>
  Buffer.from(
    name.replaceAll(/%([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    "latin1",
  ).toString("utf8");

/**
 * Returns what reads the names of a page. `isThere` is asked whether the store lists this key, and only where the page leaves open what
 * its `+` are.
 */
export async function readerOfNames(
  names: readonly string[],
  isThere: (key: string) => Promise<boolean>,
): Promise<ReadName> {
  const withPlus = names.find((name) => name.includes("+"));
  if (withPlus === undefined || names.some((name) => /%2b/i.test(name))) return readWith(" ");
  if (names.some((name) => / |%20/.test(name))) return readWith("+");
  const literal = readWith("+")(withPlus);
  return literal !== null && (await isThere(literal)) ? readWith("+") : readWith(" ");
}
