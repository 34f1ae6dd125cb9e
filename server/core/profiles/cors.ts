import { setTimeout } from "node:timers/promises";
import type * as z from "zod";
import { Fault, isFault } from "#protocol/faults/fault.ts";
import type { CorsAnswer } from "#protocol/buckets/browser-transfers.ts";
import { OWN_FOLDERS } from "#protocol/checkpoint/keys.ts";
import type {
  CorsPlanView,
  CorsRuleView,
  CorsWriteView,
  PreflightView,
  writeCorsInput,
} from "#protocol/wire/profiles.ts";
import type { ProfileDraft } from "#protocol/wire/requests.ts";
import { createAgentFetch } from "#storage/network/agent-fetch.ts";
import { readCorsRules, writeCorsRules } from "#storage/cors/bucket-cors.ts";
import { corsPastes, NO_CORS_CALL, sayByHand } from "#storage/cors/cors-by-hand.ts";
import { digestOf, planCors, sameRules } from "#storage/cors/cors-rules.ts";
import { askPreflight } from "#storage/cors/preflight.ts";
import { audit } from "../api/audit.ts";
import type { Hub } from "../api/hub.ts";
import type { Context } from "../api/trpc.ts";
import { draftOf } from "./open-store.ts";
import { lookupFor, refuseEndpoint } from "#server/platform/reach.ts";
import type { OpenStore } from "../api/ports/stores.ts";

/**
 * Manages the CORS rule that lets the pages of this hub use a bucket. The change is shown first, then written, read back and
 * tried with the preflight request of a browser. Rules of others are kept as they are.
 */

const PREFLIGHT_TIMEOUT_MS = 10_000;
const MOST_ANSWER_BYTES = 64 * 1024;
/** Some stores need seconds until a new rule applies everywhere. */
const PREFLIGHT_TRIES = 4;
const PREFLIGHT_GAP_MS = 1500;

interface Place {
  hub: Hub;
  store: OpenStore;
  profile: ProfileDraft;
  origin: string;
}

async function placeOf({ hub, origin }: Context, id: string): Promise<Place> {
  const store = await hub.stores.open(id);
  const row = await hub.db.profile.findUniqueOrThrow({ where: { id } });
  const profile = draftOf(row);
  await refuseEndpoint(profile.endpoint, hub.reach);
  if (profile.browserEndpoint !== null) await refuseEndpoint(profile.browserEndpoint, hub.reach);
  return { hub, store, profile, origin };
}

/** Sends the preflights of the two requests that matter most: PUT for uploads, GET for ranges of downloads. */
function askAll({ hub, store, profile, origin }: Place): Promise<PreflightView[]> {
  const access = { ...store.access, endpoint: profile.browserEndpoint ?? profile.endpoint };
  const key = `${store.prefix}${OWN_FOLDERS.checks}preflight`;
  const limits = { answerMs: PREFLIGHT_TIMEOUT_MS, mostAnswerBytes: MOST_ANSWER_BYTES };
  const fetch = createAgentFetch({
    lookup: lookupFor(access.endpoint, hub.reach),
    trust: access.trust ?? null,
    ...limits,
  });
  const ask = { access, key, origin, fetch, timeoutMs: PREFLIGHT_TIMEOUT_MS };
  return Promise.all(["PUT", "GET"].map((method) => askPreflight({ ...ask, method })));
}

/**
 * Returns whether the bucket allows requests of this hub's pages, by a browser's preflights. @throws Fault NOT_FOUND,
 * ENDPOINT_REFUSED
 */
export async function askProfileCors(context: Context, input: { profileId: string }): Promise<CorsAnswer> {
  const place = await placeOf(context, input.profileId);
  const preflights = await askAll(place);
  return { origin: place.origin, preflights, isAllowed: preflights.every(({ isAllowed }) => isAllowed) };
}

/**
 * Returns the plan for a person to carry out, because the hub cannot write the rule. Its state is "in place" if preflights
 * pass.
 */
async function planByHand(place: Place, why: "no call" | "refused"): Promise<CorsPlanView> {
  const { profile, origin } = place;
  const { wanted } = planCors([], origin);
  const isOpen = (await askAll(place)).every(({ isAllowed }) => isAllowed);
  const { provider, endpoint, bucket } = profile;
  const told = sayByHand(provider, why);
  return {
    origin,
    present: [],
    wanted,
    added: isOpen ? [] : wanted,
    removed: [],
    digest: digestOf([]),
    state: isOpen ? "in place" : "by hand",
    says: isOpen
      ? `${told} A browser's question for ${origin} was answered with yes, so nothing has to be done.`
      : told,
    pastes: isOpen ? [] : corsPastes(provider, { endpoint, bucket, rules: wanted }),
  };
}

/** Returns why the hub cannot read or write CORS rules through S3; null when the fault has another cause. */
function whyByHand(error: unknown): "no call" | "refused" | null {
  if (!isFault(error)) return null;
  if (error.code === "UNSUPPORTED") return "no call";
  return error.code === "ACCESS_DENIED" ? "refused" : null;
}

const viewOf = (present: readonly CorsRuleView[], origin: string): CorsPlanView => {
  const { isInPlace, ...plan } = planCors(present, origin);
  const state = isInPlace ? "in place" : "to write";
  return { origin, ...plan, digest: digestOf(present), state, says: null, pastes: [] };
};

/**
 * Returns the rules to write so that the pages of this hub are let in. @throws Fault NOT_FOUND, BAD_INPUT (endpoint, too many
 * rules), those of the store
 */
export async function planProfileCors(context: Context, input: { id: string }): Promise<CorsPlanView> {
  const place = await placeOf(context, input.id);
  if (NO_CORS_CALL.has(place.profile.provider)) return await planByHand(place, "no call");
  try {
    return viewOf(await readCorsRules(place.store.client, place.profile.bucket), place.origin);
  } catch (error) {
    const why = whyByHand(error);
    if (why === null) throw error;
    return await planByHand(place, why);
  }
}

async function askUntilAllowed(place: Place): Promise<PreflightView[]> {
  for (let tries = 1; ; tries++) {
    const preflights = await askAll(place);
    if (tries >= PREFLIGHT_TRIES || preflights.every(({ isAllowed }) => isAllowed)) return preflights;
    await setTimeout(PREFLIGHT_GAP_MS);
  }
}

/**
 * Writes the planned rules, reads them back and sends a browser's preflights. @throws Fault CONFLICT (the rules differ from
 * those shown), NOT_FOUND, BAD_INPUT, those of the store
 */
export async function writeProfileCors(
  context: Context,
  input: z.infer<typeof writeCorsInput>,
): Promise<CorsWriteView> {
  const plan = await planProfileCors(context, input);
  if (plan.state === "by hand") return { plan, isWritten: false, preflights: [] };
  if (plan.digest !== input.digest) {
    const detail = "the bucket's CORS rules changed since they were shown; look at them again";
    throw new Fault("CONFLICT", { op: "write CORS", detail });
  }
  const place = await placeOf(context, input.id);
  const { client } = place.store;
  const { bucket, name } = place.profile;
  if (plan.state === "to write") {
    try {
      await writeCorsRules(client, bucket, plan.wanted);
    } catch (error) {
      const why = whyByHand(error);
      if (why === null) throw error;
      return { plan: await planByHand(place, why), isWritten: false, preflights: [] };
    }
    await audit(context.hub, context.caller, { action: "write CORS rules", subject: `${name}: ${place.origin}` });
  }
  // Where the hub cannot read rules, the preflights are the only evidence.
  const present = plan.says === null ? await readCorsRules(client, bucket) : plan.present;
  const isWritten = plan.says === null && sameRules(present, plan.wanted);
  return { plan: { ...plan, present }, isWritten, preflights: await askUntilAllowed(place) };
}
