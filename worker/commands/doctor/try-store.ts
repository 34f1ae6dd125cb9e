import type { ProfileTestView } from "#protocol/wire/profile-views.ts";
import { checkStore } from "#storage/profile-test/check-store.ts";
import { createControlClient } from "#storage/s3/client.ts";
import { createDirectSource } from "#storage/signing/direct-source.ts";
import { storeFetch } from "#storage/network/fetch.ts";
import { sendSigned } from "#storage/s3/send.ts";
import type { StoreAccess } from "#storage/signing/signing.ts";
import type { Credential } from "#storage/signing/sigv4.ts";

/**
 * The hub's test of a bucket, with keys of our own: does what transfers do, under a scratch prefix, and removes it. A clock
 * that is off and a region that the store names are followed first, as transfers follow them.
 */

export interface Trial {
  access: StoreAccess;
  credential: Credential;
  /** Empty, or ending in `/`. */
  prefix: string;
}

export interface Tried {
  view: ProfileTestView;
  /** The region that the bucket is in. */
  region: string;
}

const LONGEST_ANSWER_MS = 30_000;

/** Never throws but for a mistake of ours. */
export async function tryStore({ access, credential, prefix }: Trial): Promise<Tried> {
  const source = createDirectSource({ access, credential });
  const ask = storeFetch({ trust: access.trust });
  for (let tries = 0; tries < 2; tries++) {
    const sentAtMs = Date.now();
    const [request] = await source.sign([{ op: "head", key: `${prefix}tidemark-check` }]);
    if (request === undefined) break;
    const options = { fetch: ask, op: "HeadObject", subject: access.bucket, timeoutMs: LONGEST_ANSWER_MS };
    // Why there is no answer shows in the first line of the test.
    const answer = await sendSigned(request, options).catch(() => null);
    if (answer === null || source.observe({ answer, sentAtMs, receivedAtMs: Date.now() }) === "as before") break;
  }
  const found = { access: source.access, now: source.now };
  const client = createControlClient({ ...found, credential });
  try {
    const view = await checkStore({ ...found, client, source, fetch: ask, prefix, timeoutMs: LONGEST_ANSWER_MS });
    return { view, region: source.access.region };
  } finally {
    client.destroy();
  }
}
