import type { ProfileTestView } from "#protocol/wire/profile-views.ts";
import { checkStore } from "#storage/profile-test/check-store.ts";
import { createControlClient } from "#storage/s3/client.ts";
import { createDirectSource } from "#storage/signing/direct-source.ts";
import { storeFetch } from "#storage/network/fetch.ts";
import { sendSigned } from "#storage/s3/send.ts";
import type { StoreAccess } from "#storage/signing/signing.ts";
import type { Credential } from "#storage/signing/sigv4.ts";

/**
 * Runs the hub's test of a bucket with the keys of this machine: makes the requests of transfers under a scratch
 * prefix, then removes the objects. Corrects for a wrong clock and for the region that the store names first, as
 * transfers do.
 */

export interface Trial {
  access: StoreAccess;
  credential: Credential;
  /** Empty, or ending in `/`. */
  prefix: string;
}

export interface Tried {
  view: ProfileTestView;
  /** Region of the bucket. */
  region: string;
}

const LONGEST_ANSWER_MS = 30_000;

/** Tries the store and returns the result. Throws only on a bug. */
export async function tryStore({ access, credential, prefix }: Trial): Promise<Tried> {
  const source = createDirectSource({ access, credential });
  const ask = storeFetch({ trust: access.trust });
  for (let tries = 0; tries < 2; tries++) {
    const sentAtMs = Date.now();
    const [request] = await source.sign([{ op: "head", key: `${prefix}tidemark-check` }]);
    if (request === undefined) break;
    const options = { fetch: ask, op: "HeadObject", subject: access.bucket, timeoutMs: LONGEST_ANSWER_MS };
    // The first line of the test shows why no answer came.
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
