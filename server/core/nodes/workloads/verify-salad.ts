import { createLocalJWKSet, createRemoteJWKSet, customFetch, errors, jwtVerify, type JWTVerifyGetKey } from "jose";
import * as z from "zod";
import { Fault, isFault } from "#protocol/faults/fault.ts";
import type { HubSettings } from "#server/platform/env.ts";
import type { Reach } from "#server/platform/reach.ts";
import { guardedFetch } from "./guarded-fetch.ts";
import type { SaladSettings } from "#server/platform/settings/read-salad-settings.ts";
import type { Workloads } from "../../api/ports/workloads.ts";

/**
 * Verifies the identity of a container on SaladCloud: a JWT of the instance metadata service, valid for five minutes. Its
 * RS256 keys change every two weeks. `sub` is the machine, `aud` the organization, `salad_workload_id` the container group
 * (https://docs.salad.com/container-engine/tutorials/security/jwt-authentication). Every customer of the platform gets such
 * tokens, so a valid signature is not enough: organization and workload must be in the hub's settings.
 */

const CLOCK_TOLERANCE_S = 60;
/** The platform's tokens live for five minutes. */
const OLDEST_S = 900;
const CACHED_MS = 3_600_000;
const AGAIN_AFTER_MS = 30_000;
const ANSWER_MS = 5_000;

/** Ids go into names and the audit, so nothing but id characters is allowed. */
const claimed = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/);
const claims = z.object({
  salad_machine_id: claimed,
  salad_organization_id: claimed,
  salad_workload_id: claimed,
});

const refuse = (detail: string, cause?: unknown): Fault =>
  new Fault("WORKLOAD_REFUSED", { op: "enrol", detail, cause });

function keysOf(salad: SaladSettings, reach: Reach): JWTVerifyGetKey {
  if (salad.keys.kind === "fixed") return createLocalJWKSet(salad.keys.jwks);
  return createRemoteJWKSet(salad.keys.url, {
    timeoutDuration: ANSWER_MS,
    cacheMaxAge: CACHED_MS,
    cooldownDuration: AGAIN_AFTER_MS,
    [customFetch]: (url, { signal }) => guardedFetch(url, { signal, reach }),
  });
}

/** Returns whether the error is about the token; any other error is about the keys. */
const isAboutToken = (error: unknown): boolean =>
  error instanceof errors.JWTClaimValidationFailed ||
  error instanceof errors.JWTExpired ||
  error instanceof errors.JWTInvalid ||
  error instanceof errors.JWSInvalid ||
  error instanceof errors.JWSSignatureVerificationFailed ||
  error instanceof errors.JOSEAlgNotAllowed ||
  error instanceof errors.JOSENotSupported ||
  error instanceof errors.JWKSNoMatchingKey ||
  error instanceof errors.JWKSMultipleMatchingKeys;

/** Returns the reason for a person, without any content of the token. */
function whyBad(error: unknown): string {
  if (error instanceof errors.JWTExpired) return "its identity has expired";
  if (error instanceof errors.JWTClaimValidationFailed) return `the claim ${error.claim} of its identity does not fit`;
  if (error instanceof errors.JWKSNoMatchingKey)
    return "its identity is signed with a key that the platform does not publish";
  return "its identity is not signed by the platform";
}

export function createWorkloads(
  { salad }: Pick<HubSettings, "salad">,
  { now, reach }: { now: () => number; reach: Reach },
): Workloads {
  if (salad === null) {
    return {
      profileName: null,
      fleet: "",
      runs: null,
      verify: async () => {
        throw refuse("this hub knows no workloads: TIDEMARK_SALAD_ORGANIZATIONS is not set");
      },
    };
  }
  const keys = keysOf(salad, reach);
  return {
    profileName: salad.profileName,
    fleet: salad.fleet,
    runs: salad.runs,
    verify: async (jwt) => {
      const parsed = claims.safeParse(await readClaims(jwt, { salad, keys, now }));
      if (!parsed.success) throw refuse("its identity names no organization, workload or machine");
      const { salad_organization_id: organizationId, salad_workload_id: workloadId } = parsed.data;
      if (!salad.organizations.includes(organizationId)) throw refuse("its organization is not one of this hub's");
      if (!salad.workloads.includes(workloadId)) throw refuse("its container group is not one of this hub's");
      return { organizationId, workloadId, machineId: parsed.data.salad_machine_id };
    },
  };
}

async function readClaims(
  jwt: string,
  { salad, keys, now }: { salad: SaladSettings; keys: JWTVerifyGetKey; now: () => number },
): Promise<unknown> {
  try {
    const { payload } = await jwtVerify(jwt, keys, {
      algorithms: ["RS256"],
      audience: [...salad.audience],
      ...(salad.issuer === null ? {} : { issuer: salad.issuer }),
      requiredClaims: ["exp", "sub"],
      maxTokenAge: OLDEST_S,
      clockTolerance: CLOCK_TOLERANCE_S,
      currentDate: new Date(now()),
    });
    return payload;
  } catch (error) {
    if (isFault(error)) throw error;
    if (isAboutToken(error)) throw refuse(whyBad(error), error);
    throw new Fault("WORKLOAD_KEYS_AWAY", { op: "enrol", cause: error });
  }
}
