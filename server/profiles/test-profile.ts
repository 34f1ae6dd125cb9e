import type * as z from "zod";
import { Fault } from "#protocol/fault.ts";
import type { CredentialDraft, ProfileDraft, testProfileInput } from "#protocol/requests.ts";
import type { ProfileTestView } from "#protocol/views.ts";
import { createAgentFetch } from "#storage/agent-fetch.ts";
import { checkStore } from "#storage/check-store.ts";
import { DEFAULT_LIFETIME_MS } from "#storage/signing.ts";
import { emit } from "../events/record-event.ts";
import type { Hub } from "../hub.ts";
import { newId } from "../random-id.ts";
import { secretPlace } from "../keeper/secret-place.ts";
import type { Context } from "../trpc.ts";
import { refuseEndpoints } from "./create.ts";
import { lookupFor } from "./reach.ts";
import { accessOf, createSealedClient, draftOf } from "./open-store.ts";

/** Nobody vouched for what answers there. */
const LIMITS = { answerMs: 5_000, mostAnswerBytes: 64 * 1024 };

interface SealedKey {
  rowId: string;
  sealed: string;
}

/** A typed key gets a handle of its own that is never stored; without one the stored key of the profile is used. */
async function sealedKeyOf(
  hub: Hub,
  input: { id: string | null; credential: CredentialDraft | null },
): Promise<SealedKey> {
  if (input.credential !== null) {
    const rowId = `draft-${newId()}`;
    const { sealed } = await hub.keeper.seal({ place: secretPlace(rowId), credential: input.credential });
    return { rowId, sealed };
  }
  const secret = input.id === null ? null : await hub.db.profileSecret.findUnique({ where: { profileId: input.id } });
  if (secret === null) throw new Fault("BAD_INPUT", { subject: "credential", detail: "the access key is missing" });
  return { rowId: secret.profileId, sealed: secret.sealed };
}

async function draftToTest(hub: Hub, input: z.infer<typeof testProfileInput>): Promise<ProfileDraft> {
  if (input.profile !== null) return input.profile;
  const row = input.id === null ? null : await hub.db.profile.findUnique({ where: { id: input.id } });
  if (row === null) throw new Fault("NOT_FOUND", { subject: "this bucket profile" });
  return draftOf(row);
}

/**
 * A stored key may only be tried against the endpoint it was entered for: otherwise a draft could send its signatures
 * somewhere else.
 */
async function refuseForeignEndpoint(hub: Hub, id: string, profile: ProfileDraft): Promise<void> {
  const row = await hub.db.profile.findUnique({ where: { id } });
  if (row !== null && new URL(row.endpoint).host !== new URL(profile.endpoint).host) {
    throw new Fault("BAD_INPUT", {
      subject: "credential",
      detail: "type the key again to test it at another endpoint",
    });
  }
}

/**
 * Tries every operation the product needs and says what the store answered. The result of a stored profile is kept.
 * @throws Fault NOT_FOUND, BAD_INPUT, ENDPOINT_REFUSED
 */
export async function testProfile(context: Context, input: z.infer<typeof testProfileInput>): Promise<ProfileTestView> {
  const { hub } = context;
  const profile = await draftToTest(hub, input);
  await refuseEndpoints(hub, profile);
  if (input.credential === null && input.id !== null) await refuseForeignEndpoint(hub, input.id, profile);
  const { rowId, sealed } = await sealedKeyOf(hub, input);
  const access = accessOf(profile, "hub");
  const place = secretPlace(rowId);
  const lookup = lookupFor(access.endpoint, hub.reach);
  const client = createSealedClient(hub.keeper, { access, rowId, sealed, lookup, limits: LIMITS });
  try {
    const view = await checkStore({
      client,
      access,
      prefix: profile.prefix,
      source: {
        sign: async (operations) => {
          const wanted = { place, sealed, access, operations: [...operations], lifetimeMs: DEFAULT_LIFETIME_MS };
          return (await hub.keeper.sign(wanted)).requests;
        },
      },
      fetch: createAgentFetch({ lookup, ...LIMITS }),
      now: hub.now,
    });
    if (input.id !== null && input.profile === null) {
      await hub.db.profile.updateMany({ where: { id: input.id }, data: { lastTest: JSON.stringify(view) } });
      emit(hub, null, ["profiles"]);
    }
    return view;
  } finally {
    client.destroy();
  }
}
