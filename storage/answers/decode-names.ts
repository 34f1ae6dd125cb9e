/**
 * Names of a listing that says `EncodingType` url. Nearly all stores write a space as `+` then and a plus sign as `%2B`, as forms do; some
 * write `%20`, or nothing, for a space and leave a plus sign as it is. What a `+` stands for is told by the other names of the page, and
 * where these say nothing, by the store: it is asked for the first of them as it stands there.
 */
export interface NameReader {
  /** Returns the key; null for a name that is not valid UTF-8. */
  read(name: string): string | null;
  /** Returns the bytes of a name, valid or not. */
  bytesOf(name: string): Buffer;
}

/** Reads names of a page that encodes none. */
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
 * Returns what reads the names of a page. `isThere` is asked whether the store lists this key, and only where the page leaves open what
 * its `+` are.
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
 * Asks for a page of names percent-encoded, because XML cannot carry every character that a key may have. A store may encode them and not
 * say so, as Ceph does with those of uploads: the same page, asked for without a wish, has them as they are.
 */
export async function askForNames<T>(
  ask: (wish: "url" | null) => Promise<T>,
  about: { isEncoded: (page: T) => boolean; namesOf: (page: T) => readonly string[] },
): Promise<T> {
  const page = await ask("url");
  return !about.isEncoded(page) && about.namesOf(page).some((name) => name.includes("%")) ? ask(null) : page;
}

/**
 * Returns what reads the marker of a page. Ceph leaves a marker as it is beside names that it encodes, and it is the last of these then.
 */
export function readerOfMarker(marker: string, page: { names: readonly string[]; reader: NameReader }): NameReader {
  if (!/[%+]/.test(marker)) return page.reader;
  const keys = page.names.map(page.reader.read).filter((key) => key !== null);
  const last = keys.reduce((a, b) => (Buffer.compare(Buffer.from(a), Buffer.from(b)) < 0 ? b : a), "");
  return marker === last ? PLAIN_NAMES : page.reader;
}

const HIGHEST = 0x10ffff;
const [FIRST_SURROGATE, LAST_SURROGATE] = [0xd800, 0xdfff];

/**
 * Returns a text that sorts before a name that is not valid UTF-8 and behind every valid name before it, by bytes. No request can carry the
 * name itself, so a listing that ended with it goes on from there, and tells it again.
 */
export function markerBefore(name: Buffer): string {
  const whole = validBeginning(name);
  const rest = name.subarray(Buffer.byteLength(whole));
  // The highest character below what follows: UTF-8 sorts as code points do.
  let [low, high] = [0, HIGHEST];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (Buffer.compare(Buffer.from(characterAt(middle)), rest) < 0) low = middle;
    else high = middle - 1;
  }
  return whole + characterAt(low) + String.fromCodePoint(HIGHEST);
}

/** The character of a code point, or the one below those that are halves of others. */
const characterAt = (point: number): string =>
  String.fromCodePoint(point >= FIRST_SURROGATE && point <= LAST_SURROGATE ? FIRST_SURROGATE - 1 : point);

/** The longest beginning that is valid UTF-8. */
function validBeginning(bytes: Buffer): string {
  const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  for (let length = bytes.length; length > 0; length--) {
    try {
      return strict.decode(bytes.subarray(0, length));
    } catch {
      // Shorter.
    }
  }
  return "";
}
