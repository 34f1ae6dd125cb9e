import { Fault } from "#protocol/faults/fault.ts";
import type { Credential } from "#storage/signing/sigv4.ts";
import type { Errand, Present, Where } from "./driver.ts";

/** What every program is given of the environment: nothing of the person's own but the way to the network. */
export const plainEnvironment = (where: Where, home: string): Record<string, string> => ({
  ...where.passedOn,
  PATH: where.searchPath,
  HOME: home,
  LANG: "C.UTF-8",
  NO_COLOR: "1",
});

/**
 * And the key, under the names that AWS's tools look for. Sums are sent where S3 demands them, as Tidemark's own requests
 * are: many stores refuse the trailers that newer versions add.
 * Faults: BAD_CREDENTIALS when there is no key.
 */
export function keyedEnvironment(errand: Errand, found: Present): Record<string, string> {
  const { accessKeyId, secretAccessKey, sessionToken } = keyOf(errand);
  return {
    ...plainEnvironment(found.where, errand.scratch),
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
    ...(sessionToken === undefined ? {} : { AWS_SESSION_TOKEN: sessionToken }),
    AWS_REGION: errand.access.region,
    AWS_DEFAULT_REGION: errand.access.region,
    AWS_EC2_METADATA_DISABLED: "true",
    AWS_REQUEST_CHECKSUM_CALCULATION: "when_required",
    AWS_RESPONSE_CHECKSUM_VALIDATION: "when_required",
  };
}

/** Faults: BAD_CREDENTIALS. */
export function keyOf({ credential }: Errand): Credential {
  if (credential === null) throw new Fault("BAD_CREDENTIALS", { op: "bench", detail: "this engine needs a key" });
  return credential;
}
