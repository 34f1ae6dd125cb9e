import { Fault, isFault } from "#protocol/fault.ts";
import type { Credential, CredentialSource } from "#storage/sigv4.ts";

/**
 * Keeps temporary keys ahead of their end: asks for the next one in the background while the last one still holds, and lets
 * nobody sign with one that is over. A source that is away for a while costs nothing before that.
 */

export interface KeyRingParts {
  /** Faults: KEYS_REFUSED, KEYS_UNAVAILABLE. */
  ask(): Promise<Credential>;
  /** Whose keys these are, for people. */
  says: string;
  now(): number;
}

/** Renewed this long before the end, or after three quarters of a short life. */
const AHEAD_MS = 5 * 60_000;
/** A request takes a while to arrive: no key is used in its last moments. */
const MARGIN_MS = 15_000;
/** A service that did not answer is left alone for this long while the last key holds. */
const PAUSE_MS = 10_000;
/** A key that is over by our clock when it comes is taken all the same, as clocks differ, for this long. */
const LEAST_LIFE_MS = 60_000;

interface Held {
  key: Credential;
  renewAt: number;
  overAt: number;
}

export function createKeyRing({ ask, says, now }: KeyRingParts): CredentialSource {
  let held: Held | null = null;
  let hasHeld = false;
  let asking: Promise<Credential> | null = null;
  let quietUntil = -Infinity;
  /** The session that the store called expired. */
  let ended: string | null = null;

  const hold = (key: Credential): Credential => {
    const nameOfKey = key.sessionToken ?? key.accessKeyId;
    if (nameOfKey === ended) {
      const detail = "it gave out once more the key that the store no longer takes";
      throw new Fault("KEYS_REFUSED", { op: "keys", subject: says, detail });
    }
    const at = now();
    const given = key.endsAt === undefined ? Infinity : key.endsAt - at;
    const lifeMs = given <= 0 ? LEAST_LIFE_MS : given;
    hasHeld = true;
    held = {
      key: given <= 0 ? withoutEnd(key) : key,
      renewAt: at + lifeMs - Math.min(AHEAD_MS, lifeMs / 4),
      overAt: at + lifeMs - Math.min(MARGIN_MS, lifeMs / 8),
    };
    return held.key;
  };
  const renew = (): Promise<Credential> => {
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
  const current = (): Credential | null => {
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
      const nameOfKey = held.key.sessionToken ?? held.key.accessKeyId;
      if (nameOfKey === ended) return false;
      ended = nameOfKey;
      held = null;
      return true;
    },
  };
}

/** Signatures are not cut short by an end that our clock misreads. */
function withoutEnd({ accessKeyId, secretAccessKey, sessionToken }: Credential): Credential {
  return { accessKeyId, secretAccessKey, ...(sessionToken === undefined ? {} : { sessionToken }) };
}
