/**
 * Streams a tar archive in the ustar format (POSIX.1-2001, "pax interchange format"), with an extended header where a name or
 * a size does not fit. Folders have no entries of their own. The archive is never held in memory.
 */

export interface TarEntry {
  /** Relative path with `/` between folders. */
  path: string;
  sizeBytes: number;
  /** Epoch ms. */
  modifiedAt: number | null;
  bytes: () => AsyncIterable<Uint8Array<ArrayBuffer>>;
}

const BLOCK = 512;
const MOST_OCTAL_BYTES = 8 ** 11 - 1;
const NAME_BYTES = 100;
const text = new TextEncoder();

const padded = (length: number): number => Math.ceil(length / BLOCK) * BLOCK;

/** Splits a path into `name` and `prefix` of the header; null when it does not fit. */
function splitName(path: Uint8Array): { name: Uint8Array; prefix: Uint8Array } | null {
  if (path.length <= NAME_BYTES) return { name: path, prefix: new Uint8Array() };
  for (let at = Math.min(155, path.length - 2); at > 0; at--) {
    if (path[at] === 0x2f && path.length - at - 1 <= NAME_BYTES) {
      return { name: path.subarray(at + 1), prefix: path.subarray(0, at) };
    }
  }
  return null;
}

interface Header {
  name: Uint8Array;
  prefix: Uint8Array;
  sizeBytes: number;
  modifiedAt: number | null;
  /** `0`: file, `x`: extended header. */
  type: "0" | "x";
}

function header({ name, prefix, sizeBytes, modifiedAt, type }: Header): Uint8Array<ArrayBuffer> {
  const block = new Uint8Array(BLOCK);
  const put = (at: number, value: string): void => block.set(text.encode(value), at);
  const octal = (value: number, width: number): string => value.toString(8).padStart(width - 1, "0");
  block.set(name, 0);
  put(100, `${octal(0o644, 8)}\0`);
  put(108, `${octal(0, 8)}\0`);
  put(116, `${octal(0, 8)}\0`);
  put(124, `${octal(Math.min(sizeBytes, MOST_OCTAL_BYTES), 12)}\0`);
  put(136, `${octal(Math.max(0, Math.floor((modifiedAt ?? 0) / 1000)), 12)}\0`);
  put(148, "        ");
  put(156, type);
  put(257, "ustar\u000000");
  block.set(prefix, 345);
  const sum = block.reduce((total, byte) => total + byte, 0);
  put(148, `${sum.toString(8).padStart(6, "0")}\0 `);
  return block;
}

/** Returns `length key=value\n`, where the length includes its own digits. */
function record(key: string, value: string): string {
  const rest = text.encode(` ${key}=${value}\n`).length;
  let length = rest + 1;
  while (String(length).length + rest !== length) length = String(length).length + rest;
  return `${length} ${key}=${value}\n`;
}

function headersOf({ path, sizeBytes, modifiedAt }: TarEntry): Uint8Array<ArrayBuffer>[] {
  const encoded = text.encode(path);
  const split = splitName(encoded);
  const records = [
    ...(split === null ? [record("path", path)] : []),
    ...(sizeBytes > MOST_OCTAL_BYTES ? [record("size", String(sizeBytes))] : []),
  ].join("");
  const { name, prefix } = split ?? { name: encoded.subarray(0, NAME_BYTES), prefix: new Uint8Array() };
  const own = header({ name, prefix, sizeBytes, modifiedAt, type: "0" });
  if (records === "") return [own];
  const body = text.encode(records);
  const block = new Uint8Array(padded(body.length));
  block.set(body);
  const about = { name: text.encode("PaxHeader"), prefix: new Uint8Array(), modifiedAt, type: "x" as const };
  return [header({ ...about, sizeBytes: body.length }), block, own];
}

/** Returns the size of the archive in bytes. */
export const tarBytes = (entries: readonly Omit<TarEntry, "bytes">[]): number =>
  entries.reduce((sum, entry) => {
    const heads = headersOf({ ...entry, bytes: nothing }).reduce((total, block) => total + block.length, 0);
    return sum + heads + padded(entry.sizeBytes);
  }, 2 * BLOCK);

async function* nothing(): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  // No content: `tarBytes` only needs the headers.
}

/** Yields the archive chunk by chunk. @throws RangeError when an entry yields another number of bytes than its size */
export async function* writeTar(
  entries: AsyncIterable<TarEntry> | Iterable<TarEntry>,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  for await (const entry of entries) {
    yield* headersOf(entry);
    let came = 0;
    for await (const bytes of entry.bytes()) {
      came += bytes.length;
      yield bytes;
    }
    if (came !== entry.sizeBytes) throw new RangeError(`${entry.path}: ${came} bytes instead of ${entry.sizeBytes}`);
    const rest = padded(came) - came;
    if (rest > 0) yield new Uint8Array(rest);
  }
  yield new Uint8Array(2 * BLOCK);
}
