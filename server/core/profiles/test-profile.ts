import type * as z from "zod";
import { Fault } from "#protocol/faults/fault.ts";
import type { FoundTraits } from "#protocol/wire/profiles.ts";
import type { KeyBy, KeySource, ProfileDraft, testProfileInput } from "#protocol/wire/requests.ts";
import type { ProfileTestView } from "#protocol/wire/profile-views.ts";
import { createAgentFetch } from "#storage/network/agent-fetch.ts";
import { checkStore } from "#storage/profile-test/check-store.ts";
import { DEFAULT_LIFETIME_MS } from "#storage/signing/signing.ts";
import { audit } from "../api/audit.ts";
import { emit } from "../events/record-event.ts";
import type { Hub } from "../api/hub.ts";
import { secretPlace } from "#server/signer/secret-place.ts";
import type { Context } from "../api/trpc.ts";
import { refuseEndpoints } from "./create.ts";
import { foundOf } from "./found-of.ts";
import { keyOf } from "./key-of.ts";
import { lookupFor } from "#server/platform/reach.ts";
import { accessOf, createSealedClient, draftOf } from "./open-store.ts";
import { isSameService, keyByOf, sealedNow } from "./session-keys.ts";
import { keepTested } from "./tested-drafts.ts";

/** Limits for an endpoint that is not trusted yet. */
const LIMITS = { answerMs: 5_000, mostAnswerBytes: 64 * 1024 };

/**
 * Returns the sealed key to test with. A typed or pasted key is stored nowhere; without one the profile's stored key is used.
 */
async function sealedKeyOf(
  context: Context,
  input: { id: string | null; credential: KeySource | null },
): Promise<{ rowId: string; sealed: string }> {
  if (input.credential !== null) return await keyOf(context, input.credential);
  const { hub } = context;
  const secret = input.id === null ? null : await hub.db.profileSecret.findUnique({ where: { profileId: input.id } });
  if (secret === null) throw new Fault("BAD_INPUT", { subject: "credential", detail: "the access key is missing" });
  return { rowId: secret.profileId, sealed: secret.sealed };
}

/** Returns the draft to test, with its version if it is exactly the stored profile. */
async function draftToTest(
  hub: Hub,
  input: z.infer<typeof testProfileInput>,
): Promise<{ profile: ProfileDraft; keyBy: KeyBy | null; version: number | null }> {
  const { profile, keyBy } = input;
  if (profile !== null && keyBy !== undefined) return { profile, keyBy, version: null };
  const row = input.id === null ? null : await hub.db.profile.findUnique({ where: { id: input.id } });
  if (row === null && profile !== null) return { profile, keyBy: null, version: null };
  if (row === null) throw new Fault("NOT_FOUND", { subject: "this bucket profile" });
  const stored = keyBy === undefined ? keyByOf(row) : keyBy;
  return profile === null
    ? { profile: draftOf(row), keyBy: stored, version: row.version }
    : { profile, keyBy: stored, version: null };
}

/**
 * Refuses to test a stored key against an endpoint other than the one it was entered for. Otherwise a draft could send its
 * signatures somewhere else.
 */
async function refuseForeignEndpoint(
  hub: Hub,
  id: string,
  { profile, keyBy }: { profile: ProfileDraft; keyBy: KeyBy | null },
): Promise<void> {
  const row = await hub.db.profile.findUnique({ where: { id } });
  if (row === null) return;
  // STS receives a request signed by the key; Cloudflare receives the secret itself.
  const isOtherService = keyBy !== null && !isSameService(row, keyBy);
  if (isOtherService || new URL(row.endpoint).host !== new URL(profile.endpoint).host) {
    throw new Fault("BAD_INPUT", {
      subject: "credential",
      detail: "type the key again to test it at another endpoint",
    });
  }
}

/** Merges two results: a trait that this test could not determine keeps its earlier value. */
function joined(before: FoundTraits | null, found: FoundTraits): FoundTraits {
  return {
    checksum: found.checksum ?? before?.checksum ?? null,
    conditionalWrites: found.conditionalWrites ?? before?.conditionalWrites ?? null,
    foundAt: found.foundAt,
  };
}

/** Stores the result; the hub signs by the traits it found from now on. */
async function keepResult(
  hub: Hub,
  { id, version }: { id: string; version: number },
  view: ProfileTestView,
): Promise<void> {
  const row = await hub.db.profile.findUnique({ where: { id } });
  if (row === null) return;
  const before = foundOf(row);
  const found = joined(before, view.found);
  // The version guards against a profile that was changed during the test: it may be another store.
  const { count } = await hub.db.profile.updateMany({
    where: { id, version },
    data: { lastTest: JSON.stringify(view), found: JSON.stringify(found) },
  });
  const isNew = before?.checksum !== found.checksum || before.conditionalWrites !== found.conditionalWrites;
  if (count > 0 && isNew) {
    hub.stores.forget(id);
    hub.live.profileChanged(id, row.name);
  }
  emit(hub, null, ["profiles"]);
}

/**
 * Tries every operation that the product needs and reports the store's answers. The result of a stored profile is kept.
 * @throws Fault NOT_FOUND, BAD_INPUT, ENDPOINT_REFUSED
 */
export async function testProfile(context: Context, input: z.infer<typeof testProfileInput>): Promise<ProfileTestView> {
  const { hub } = context;
  const { profile, keyBy, version } = await draftToTest(hub, input);
  await refuseEndpoints(hub, profile, keyBy);
  if (input.credential === null && input.id !== null) await refuseForeignEndpoint(hub, input.id, { profile, keyBy });
  const { rowId, sealed: own } = await sealedKeyOf(context, input);
  const sealed = sealedNow(hub, { rowId, sealed: own, keyBy, ...profile });
  // A failure to get a session key fails the call: it is no finding about the store.
  await sealed();
  // Uses the provider's default traits, so that the test determines earlier findings anew.
  const access = accessOf(profile, { side: "hub", found: null });
  const place = secretPlace(rowId);
  const about = { action: "test profile", subject: profile.name };
  await audit(hub, context.caller, input.id === null ? about : { ...about, subjectId: input.id });
  const lookup = lookupFor(access.endpoint, hub.reach);
  const client = createSealedClient(hub.signer, { access, rowId, sealed, lookup, limits: LIMITS });
  try {
    const view = await checkStore({
      client,
      access,
      prefix: profile.prefix,
      origin: context.origin,
      source: {
        sign: async (operations) => {
          const wanted = {
            place,
            sealed: await sealed(),
            access,
            operations: [...operations],
            lifetimeMs: DEFAULT_LIFETIME_MS,
          };
          return (await hub.signer.sign(wanted)).requests;
        },
      },
      fetch: createAgentFetch({ lookup, trust: access.trust ?? null, ...LIMITS }),
      now: hub.now,
    });
    if (input.profile !== null) keepTested(hub, { id: input.id, profile, credential: input.credential, keyBy }, view);
    if (input.id !== null && version !== null) await keepResult(hub, { id: input.id, version }, view);
    return view;
  } finally {
    client.destroy();
  }
}
