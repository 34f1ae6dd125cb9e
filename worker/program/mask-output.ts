/** Replaces values in a stream of bytes, also where two chunks share one. */
export interface Mask {
  /** Returns what may be passed on. Bytes that may be the beginning of a value are kept until the next call. */
  add(chunk: Buffer): Buffer;
  /** Returns the bytes that were kept. */
  end(): Buffer;
}

/** Shorter values are words that occur by chance. */
export const SHORTEST_HIDDEN = 4;
const STARS = Buffer.from("***");
const NOTHING = Buffer.alloc(0);

/** Creates a mask for one stream. Where several values begin, the longest is replaced. */
export function createMask(values: readonly string[]): Mask {
  const hidden = [...new Set(values)]
    .map((value) => Buffer.from(value))
    .filter(({ length }) => length >= SHORTEST_HIDDEN)
    .toSorted((a, b) => b.length - a.length);
  const longest = hidden[0]?.length ?? 0;
  let kept = NOTHING;

  /** Returns where the first value begins at or after `from`, and its length. */
  function next(bytes: Buffer, from: number): { at: number; length: number } | null {
    let found: { at: number; length: number } | null = null;
    for (const value of hidden) {
      const at = bytes.indexOf(value, from);
      if (at >= 0 && (found === null || at < found.at)) found = { at, length: value.length };
    }
    return found;
  }

  /** Returns where the end of the bytes may begin a value; their length when it does not. */
  function firstOpen(bytes: Buffer, from: number): number {
    for (let at = Math.max(from, bytes.length - longest + 1); at < bytes.length; at++) {
      const rest = bytes.subarray(at);
      if (hidden.some((value) => value.length > rest.length && value.subarray(0, rest.length).equals(rest))) return at;
    }
    return bytes.length;
  }

  /** Returns the bytes that may be passed on, and keeps those that may begin a value, or a longer one. */
  function pass(bytes: Buffer, isLast: boolean): Buffer {
    const parts: Buffer[] = [];
    let from = 0;
    for (;;) {
      const open = isLast ? bytes.length : firstOpen(bytes, from);
      const found = next(bytes, from);
      if (found === null || found.at >= open) {
        parts.push(bytes.subarray(from, open));
        // The next chunk may use the same memory.
        kept = Buffer.from(bytes.subarray(open));
        return parts.length === 1 ? (parts[0] ?? NOTHING) : Buffer.concat(parts);
      }
      parts.push(bytes.subarray(from, found.at), STARS);
      from = found.at + found.length;
    }
  }

  return {
    add: (chunk) => (longest === 0 ? chunk : pass(kept.length === 0 ? chunk : Buffer.concat([kept, chunk]), false)),
    end: () => pass(kept, true),
  };
}
