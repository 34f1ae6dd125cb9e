import { Fault, isFault } from "#protocol/faults/fault.ts";
import { keyBy as keyBySchema, type KeyBy } from "#protocol/wire/requests.ts";
import { createAgentFetch } from "#storage/network/agent-fetch.ts";
import { createKeyRing } from "#storage/signing/key-ring.ts";
import { readTemporaryKey } from "#storage/signing/read-temporary-key.ts";
import { sendSigned } from "#storage/s3/send.ts";
import type { Credential } from "#storage/signing/sigv4.ts";
import { SESSION_MS } from "#storage/signing/temporary-key.ts";
import { readR2Key } from "./ask-r2.ts";
import type { Signer } from "#server/signer/messages.ts";
import { secretPlace } from "#server/signer/secret-place.ts";
import { lookupFor, type Reach } from "#server/platform/reach.ts";

/**
 * Provides the key that signs for a profile. A profile with `keyBy` signs with a session key, which is renewed before it
 * expires. The signing process signs the request for it, the hub sends that, and the answer is sealed at once. A session key
 * lasts an hour, opens one bucket at most, and is kept in memory only.
 */

const ANSWER_MS = 10_000;
const MOST_ANSWER_BYTES = 64 * 1024;

/** Returns the sealed key to sign with now. Faults: KEYS_REFUSED, KEYS_UNAVAILABLE, ENDPOINT_REFUSED. */
export type SealedNow = () => Promise<string>;

export interface SessionParts {
  signer: Signer;
  reach: Reach;
  now(): number;
}

export interface KeyedProfile {
  /** The id of the row that the key is sealed for. */
  rowId: string;
  sealed: string;
  keyBy: KeyBy | null;
  name: string;
  bucket: string;
  region: string;
}

/** Returns the parsed `keyBy` column. */
export const keyByOf = (row: { keyBy: string | null }): KeyBy | null =>
  row.keyBy === null ? null : keyBySchema.parse(JSON.parse(row.keyBy));

export const keyByColumn = (keyBy: KeyBy | null): string | null => (keyBy === null ? null : JSON.stringify(keyBy));

/** Returns the URL of the service that issues session keys. */
export const serviceOf = (keyBy: KeyBy): string => (keyBy.call === "sts" ? keyBy.endpoint : keyBy.url);

/** Returns whether the profile already uses its key at this service. */
export function isSameService(row: { keyBy: string | null }, keyBy: KeyBy): boolean {
  const before = keyByOf(row);
  return (
    before !== null && before.call === keyBy.call && new URL(serviceOf(before)).host === new URL(serviceOf(keyBy)).host
  );
}

const AWAY: ReadonlySet<string> = new Set([
  "THROTTLED",
  "STORE_UNAVAILABLE",
  "LINK_DOWN",
  "STALLED",
  "TRUNCATED",
  "NAME_NOT_RESOLVED",
  "INTERCEPTED",
]);

/** Returns the source of the sealed key. A profile without session keys returns its own key at once. */
export function sealedNow(parts: SessionParts, profile: KeyedProfile): SealedNow {
  const { keyBy, sealed } = profile;
  if (keyBy === null) return async () => sealed;
  const ring = createKeyRing({
    ask: () => askSession(parts, { ...profile, keyBy }),
    nameOf: (session) => session.sealed,
    // Presigned URLs end with the session: renewing early leaves each at least half an hour.
    aheadMs: SESSION_MS / 2,
    says: profile.name,
    now: parts.now,
  });
  return async () => (ring.now() ?? (await ring.fresh())).sealed;
}

async function askSession(
  { signer, reach, now }: SessionParts,
  profile: KeyedProfile & { keyBy: KeyBy },
): Promise<{ sealed: string; endsAt: number }> {
  const { keyBy, rowId, sealed, region, bucket } = profile;
  const place = secretPlace(rowId);
  const service = new URL(serviceOf(keyBy)).origin;
  const op = keyBy.call === "sts" ? "AssumeRole" : "temp-access-credentials";
  try {
    const { url, headers, body } = await signer.askSession({ place, sealed, ask: { keyBy, region, bucket } });
    const fetch = createAgentFetch({
      lookup: lookupFor(url, reach),
      answerMs: ANSWER_MS,
      mostAnswerBytes: MOST_ANSWER_BYTES,
    });
    const request = { url, headers, method: "POST", expiresAt: now() + ANSWER_MS } as const;
    const answer = await sendSigned(request, { fetch, op, subject: service, body, timeoutMs: ANSWER_MS });
    const made: Credential =
      keyBy.call === "sts" ? readTemporaryKey(answer, { op, subject: service }) : readR2Key(answer, op);
    const endsAt = made.endsAt ?? now() + SESSION_MS;
    const kept = await signer.seal({ place, credential: { ...made, endsAt } });
    return { sealed: kept.sealed, endsAt };
  } catch (error) {
    if (!isFault(error) || error.code === "ENDPOINT_REFUSED") throw error;
    const { detail = error.code } = error.context;
    const code = AWAY.has(error.code) ? "KEYS_UNAVAILABLE" : "KEYS_REFUSED";
    throw new Fault(code, { op, subject: service, detail, cause: error });
  }
}
