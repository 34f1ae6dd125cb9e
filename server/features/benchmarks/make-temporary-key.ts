import type { StsWay, TemporaryWay } from "#protocol/benchmarks/bench-key.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { createAgentFetch } from "#storage/network/agent-fetch.ts";
import { readTemporaryKey } from "#storage/signing/read-temporary-key.ts";
import { sendSigned } from "#storage/s3/send.ts";
import type { Credential } from "#storage/signing/sigv4.ts";
import { lifetimeFor, type SignedCall } from "#storage/signing/temporary-key.ts";
import type { Profile } from "#prisma/client/client.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { secretPlace } from "#server/signer/secret-place.ts";
import { lookupFor } from "#server/platform/reach.ts";
import { askR2Key, readR2Key } from "#server/core/profiles/ask-r2.ts";

/** Obtains a key that the store issues for one turn. The signer signs requests to a Security Token Service; the hub sends them. */

const ANSWER_MS = 10_000;
const MOST_ANSWER_BYTES = 64 * 1024;

interface Wanted<Way extends TemporaryWay = TemporaryWay> {
  way: Way;
  folder: string;
  lifetimeMs: number;
}

/**
 * Requests a key.
 * @throws Fault those of the service and the network, ENDPOINT_REFUSED, NOT_FOUND if the profile has no key to ask with
 */
export async function makeTemporaryKey(hub: Hub, profile: Profile, wanted: Wanted): Promise<Credential> {
  const { way, folder } = wanted;
  if (way.call === "sts") return askSts(hub, profile, { ...wanted, way });
  const lifetimeMs = lifetimeFor(wanted);
  const op = "temp-access-credentials";
  return readR2Key(await send(hub, op, askR2Key({ way, bucket: profile.bucket, folder, lifetimeMs })), op);
}

async function askSts(hub: Hub, profile: Profile, wanted: Wanted<StsWay>): Promise<Credential> {
  const { way } = wanted;
  const secret = await hub.db.profileSecret.findUnique({ where: { profileId: profile.id } });
  if (secret === null) throw new Fault("NOT_FOUND", { op: "temporary key", subject: profile.name });
  const isAws = profile.provider === "aws";
  const call = await hub.signer.askTemporary({
    place: secretPlace(profile.id),
    sealed: secret.sealed,
    ask: { ...wanted, isAws, region: profile.region, bucket: profile.bucket },
  });
  const op = isAws && way.roleArn === null ? "GetFederationToken" : "AssumeRole";
  return readTemporaryKey(await send(hub, op, call), { op, subject: way.endpoint });
}

function send(hub: Hub, op: string, { url, headers, body }: SignedCall) {
  const lookup = lookupFor(url, hub.reach);
  const fetch = createAgentFetch({ lookup, answerMs: ANSWER_MS, mostAnswerBytes: MOST_ANSWER_BYTES });
  const request = { url, headers, method: "POST", expiresAt: hub.now() + ANSWER_MS } as const;
  return sendSigned(request, { fetch, op, subject: new URL(url).origin, body, timeoutMs: ANSWER_MS });
}
