import { Fault, isFault } from "#protocol/faults/fault.ts";

/**
 * Renews temporary keys in the background before they expire, and never hands out an expired key.
 * A failing key source does no harm until the current key expires.
 */

interface Ending {
  /** Expiry, epoch ms. Absent: the key never expires. */
  readonly endsAt?: number;
}

export interface KeyRing<Key> {
  /** Returns the key to sign with, and starts its renewal when expiry is near. Null: the key has expired, so await `fresh`. */
  now(): Key | null;
  /** Returns a key that has not expired, renewing it if needed. Rejects with the Faults of `ask`. */
  fresh(): Promise<Key>;
  /**
   * Discards the current key after the store rejected it as expired. Returns whether another key can be asked for: true
   * once per key.
   */
  ended(): boolean;
}

export interface KeyRingParts<Key extends Ending> {
  /** Fetches a key. Rejects with Fault KEYS_REFUSED or KEYS_UNAVAILABLE. */
  ask(): Promise<Key>;
  /** Returns an identifier that differs between keys. */
  nameOf(key: Key): string;
  /** Longest time before expiry at which a key is renewed, ms. */
  aheadMs: number;
  /** The key source's name in messages. */
  says: string;
  now(): number;
}

/** Share of a key's lifetime during which it is not renewed, so that short-lived keys are not renewed constantly. */
const LEAST_SHARE = 0.5;
/** A request needs time to reach the store, so a key is not used in its last moments. */
const MARGIN_MS = 15_000;
/** Pause after a failed renewal while the current key is still valid. */
const PAUSE_MS = 10_000;
/** Clocks differ: a key that is already expired by our clock on arrival is used for this long. */
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
  /** The identifier of the key that the store last called expired. */
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
        // BAD_INPUT from a source that has given keys before is taken as an outage, so the caller retries.
        if (isFault(error) && (error.code !== "BAD_INPUT" || !hasHeld)) throw error;
        const detail = isFault(error) ? error.context.detail : undefined;
        throw new Fault("KEYS_UNAVAILABLE", { op: "keys", subject: says, cause: error, ...(detail && { detail }) });
      })
      .finally(() => (asking = null));
    return asking;
  };
  const current = (): Key | null => {
    if (held === null || now() >= held.overAt) return null;
    // A failed renewal matters only when no valid key is left; `fresh` then reports it.
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

/** Returns the key without its expiry. Our clock misreads that expiry, so it must not shorten signatures. */
function withoutEnd<Key extends Ending>(key: Key): Key {
  const { endsAt: _, ...rest } = key;
  return rest as Key;
}
