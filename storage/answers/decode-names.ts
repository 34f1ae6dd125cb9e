/**
 * Decodes names of a listing with `EncodingType` url. Nearly all stores use form encoding: a space is `+`, a plus sign is
 * `%2B`. A few write a space as `%20` or as it is, and leave a plus sign unencoded. The other names of the page show
 * which form it is. If they do not, the reader asks the store whether the literal key exists.
 */
export interface NameReader {
  /** Returns the decoded key; null for a name that is not valid UTF-8. */
  read(name: string): string | null;
  /** Returns the decoded bytes of a name, valid UTF-8 or not. */
  bytesOf(name: string): Buffer;
}

/** Reader for pages with unencoded names. */
export const PLAIN_NAMES: NameReader = { read: (name) => name, bytesOf: (name) => Buffer.from(name) };

const readWith = (plus: string): NameReader => ({
  read: (name) => {
    try {
      return decodeURIComponent(name.replaceAll("+", plus));
    } catch {
      return null;
    }
  },
  bytesOf: (name) =>
    Buffer.from(
      name
        .replaceAll("+", plus)
        .replaceAll(/%([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
      "latin1",
    ),
});

/**
 * Returns the reader for the names of a page. Calls `isThere`, which asks the store for a key, only where the page leaves
 * the meaning of `+` open.
 */
export async function readerOfNames(
  names: readonly string[],
  isThere: (key: string) => Promise<boolean>,
): Promise<NameReader> {
  const withPlus = names.find((name) => name.includes("+"));
  if (withPlus === undefined || names.some((name) => /%2b/i.test(name))) return readWith(" ");
  if (names.some((name) => / |%20/.test(name))) return readWith("+");
  const literal = readWith("+").read(withPlus);
  return literal !== null && (await isThere(literal)) ? readWith("+") : readWith(" ");
}

/**
 * Requests a page with percent-encoded names, because XML cannot carry every character of a key. Ceph encodes names of
 * multipart uploads without saying so. Such a page is requested again unencoded.
 */
export async function askForNames<T>(
  ask: (encoding: "url" | null) => Promise<T>,
  about: { isEncoded: (page: T) => boolean; namesOf: (page: T) => readonly string[] },
): Promise<T> {
  const page = await ask("url");
  return !about.isEncoded(page) && about.namesOf(page).some((name) => name.includes("%")) ? ask(null) : page;
}

/** Returns the reader for the marker of a page. Ceph encodes names but not the marker, which then equals the last name. */
export function readerOfMarker(marker: string, page: { names: readonly string[]; reader: NameReader }): NameReader {
  if (!/[%+]/.test(marker)) return page.reader;
  const keys = page.names.map(page.reader.read).filter((key) => key !== null);
  const last = keys.reduce((a, b) => (Buffer.compare(Buffer.from(a), Buffer.from(b)) < 0 ? b : a), "");
  return marker === last ? PLAIN_NAMES : page.reader;
}

const HIGHEST = 0x10ffff;
const [FIRST_SURROGATE, LAST_SURROGATE] = [0xd800, 0xdfff];

/**
 * Returns a text that sorts, by bytes, before a name that is invalid UTF-8 and after every valid name before that name.
 * No request can carry the invalid name itself. A listing that ended with it resumes from this marker and lists the name
 * again.
 */
export function markerBefore(name: Buffer): string {
  const whole = validBeginning(name);
  const rest = name.subarray(Buffer.byteLength(whole));
  // Binary search for the highest character below the remaining bytes: UTF-8 sorts in code point order.
  let [low, high] = [0, HIGHEST];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (Buffer.compare(Buffer.from(characterAt(middle)), rest) < 0) low = middle;
    else high = middle - 1;
  }
  return whole + characterAt(low) + String.fromCodePoint(HIGHEST);
}

/** Returns the character of a code point; for surrogates, which UTF-8 cannot encode, the character just below them. */
const characterAt = (point: number): string =>
  String.fromCodePoint(point >= FIRST_SURROGATE && point <= LAST_SURROGATE ? FIRST_SURROGATE - 1 : point);

/** Returns the longest prefix that is valid UTF-8. */
function validBeginning(bytes: Buffer): string {
  const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  for (let length = bytes.length; length > 0; length--) {
    try {
      return strict.decode(bytes.subarray(0, length));
    } catch {
      // Tries a shorter prefix.
    }
  }
  return "";
}
