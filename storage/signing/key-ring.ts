import { Fault, isFault } from "#protocol/faults/fault.ts";

/**
 * Keeps temporary keys ahead of their end: asks for the next one in the background while the last one still holds, and lets
 * nobody sign with one that is over. A source that is away for a while costs nothing before that.
 */

interface Ending {
  /** Epoch ms. Absent: it stays. */
  readonly endsAt?: number;
}

export interface KeyRing<Key> {
  /** The key to sign with now; null while the last one has ended and `fresh` has to be awaited. Renews it ahead of its end. */
  now(): Key | null;
  /** A key that has not ended. Faults: of `ask`. */
  fresh(): Promise<Key>;
  /** Told that the store no longer takes the key of now. True where another one can be asked for, once for each key. */
  ended(): boolean;
}

export interface KeyRingParts<Key extends Ending> {
  /** Faults: KEYS_REFUSED, KEYS_UNAVAILABLE. */
  ask(): Promise<Key>;
  /** Tells keys apart. */
  nameOf(key: Key): string;
  /** The longest time before its end that a key is renewed. */
  aheadMs: number;
  /** Whose keys these are, for people. */
  says: string;
  now(): number;
}

/** The least share of its life that a key is used for. */
const LEAST_SHARE = 0.5;
/** A request takes a while to arrive: no key is used in its last moments. */
const MARGIN_MS = 15_000;
/** A service that did not answer is left alone for this long while the last key holds. */
const PAUSE_MS = 10_000;
/** A key that is over by our clock when it comes is taken all the same, as clocks differ, for this long. */
const LEAST_LIFE_MS = 60_000;

interface Held<Key> {
  key: Key;
  renewAt: number;
  overAt: number;
}

export function createKeyRing<Key extends Ending>(parts: KeyRingParts<Key>): KeyRing<Key> {
  const { ask, nameOf, says, aheadMs, now } = parts;
  let held: Held<Key> | null = null;
  let hasHeld = false;
  let asking: Promise<Key> | null = null;
  let quietUntil = -Infinity;
  /** The session that the store called expired. */
  let ended: string | null = null;

  const hold = (key: Key): Key => {
    if (nameOf(key) === ended) {
      const detail = "it gave out once more the key that the store no longer takes";
      throw new Fault("KEYS_REFUSED", { op: "keys", subject: says, detail });
    }
    const at = now();
    const given = key.endsAt === undefined ? Infinity : key.endsAt - at;
    const lifeMs = given <= 0 ? LEAST_LIFE_MS : given;
    hasHeld = true;
    held = {
      key: given <= 0 ? withoutEnd(key) : key,
      renewAt: at + lifeMs - Math.min(aheadMs, lifeMs * LEAST_SHARE),
      overAt: at + lifeMs - Math.min(MARGIN_MS, lifeMs / 8),
    };
    return held.key;
  };
  const renew = (): Promise<Key> => {
    asking ??= ask()
      .then(hold)
      .catch((error: unknown) => {
        quietUntil = now() + PAUSE_MS;
        // Who has given keys before is away, and will be back.
        if (isFault(error) && (error.code !== "BAD_INPUT" || !hasHeld)) throw error;
        const detail = isFault(error) ? error.context.detail : undefined;
        throw new Fault("KEYS_UNAVAILABLE", { op: "keys", subject: says, cause: error, ...(detail && { detail }) });
      })
      .finally(() => (asking = null));
    return asking;
  };
  const current = (): Key | null => {
    if (held === null || now() >= held.overAt) return null;
    // Its failure is news only when there is no key left.
    if (now() >= held.renewAt && asking === null && now() >= quietUntil) renew().catch(() => undefined);
    return held.key;
  };
  return {
    now: current,
    fresh: async () => current() ?? (await renew()),
    ended: () => {
      if (held === null) return true;
      const nameOfKey = nameOf(held.key);
      if (nameOfKey === ended) return false;
      ended = nameOfKey;
      held = null;
      return true;
    },
  };
}

/** Signatures are not cut short by an end that our clock misreads. */
function withoutEnd<Key extends Ending>(key: Key): Key {
  const { endsAt: _, ...rest } = key;
  return rest as Key;
}
