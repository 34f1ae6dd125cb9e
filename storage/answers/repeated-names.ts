import { hash, randomBytes } from "node:crypto";

/**
 * Finds names that a listing has repeated. Some stores repeat the end of a page on the next page, or go back when a page
 * was lost. The order of the names proves nothing, because not every store sorts them.
 */
export interface RepeatFinder {
  /** Returns whether the name was given before, and remembers it. */
  isRepeated(name: string): boolean;
  /** Returns the fingerprints of the newest names, for a finder in this process that continues the listing. */
  newest(): readonly Fingerprint[];
}

export type Fingerprint = readonly [number, number];

/** Number of names that are always remembered; at most twice as many are. Together they take about 8 MB. */
const REMEMBERED = 65_536;
/** Number of names that `newest` returns. */
const NEWEST = 32;
/** Secret, so that nobody can choose names with the same fingerprint. */
const SEED = randomBytes(16).toString("hex");

/**
 * Creates a finder that remembers fingerprints of at least the last `remembered` names, in bounded memory. A name that was
 * given earlier than that counts as new, so that nothing is left out of a listing without proof. `before`: result of
 * `newest` at the end of the earlier pages.
 */
export function createRepeatFinder(about: { remembered?: number; before?: readonly Fingerprint[] } = {}): RepeatFinder {
  const { remembered = REMEMBERED, before = [] } = about;
  let recent = new Map<number, number>(before);
  let older = new Map<number, number>();
  const newest = [...before];
  return {
    isRepeated: (name) => {
      const digest = hash("sha1", SEED + name, "buffer");
      const print: Fingerprint = [digest.readUIntBE(0, 6), digest.readInt32BE(6)];
      const [first, second] = print;
      if (recent.get(first) === second || older.get(first) === second) return true;
      recent.set(first, second);
      if (recent.size >= remembered) [older, recent] = [recent, new Map()];
      newest.push(print);
      if (newest.length > NEWEST) newest.shift();
      return false;
    },
    newest: () => newest,
  };
}
