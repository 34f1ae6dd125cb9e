import { Fault } from "#protocol/faults/fault.ts";
import type { Credential } from "#storage/signing/sigv4.ts";
import type { TransferTask, Present, Where } from "./driver.ts";

/** Returns the environment that every engine gets: of the user's own variables only those for proxies, certificates and paths. */
export const plainEnvironment = (where: Where, home: string): Record<string, string> => ({
  ...where.passedOn,
  PATH: where.searchPath,
  HOME: home,
  LANG: "C.UTF-8",
  NO_COLOR: "1",
});

/**
 * Returns the same environment with the key, under the variables that AWS tools read. Checksums are sent only where S3
 * requires them, as Tidemark does: many stores refuse the checksum trailers that newer SDKs add by default.
 * @throws Fault BAD_CREDENTIALS when there is no key.
 */
export function keyedEnvironment(task: TransferTask, found: Present): Record<string, string> {
  const { accessKeyId, secretAccessKey, sessionToken } = keyOf(task);
  return {
    ...plainEnvironment(found.where, task.scratch),
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
    ...(sessionToken === undefined ? {} : { AWS_SESSION_TOKEN: sessionToken }),
    AWS_REGION: task.access.region,
    AWS_DEFAULT_REGION: task.access.region,
    AWS_EC2_METADATA_DISABLED: "true",
    AWS_REQUEST_CHECKSUM_CALCULATION: "when_required",
    AWS_RESPONSE_CHECKSUM_VALIDATION: "when_required",
  };
}

/** Returns the key of a task. @throws Fault BAD_CREDENTIALS when there is none. */
export function keyOf({ credential }: TransferTask): Credential {
  if (credential === null) throw new Fault("BAD_CREDENTIALS", { op: "bench", detail: "this engine needs a key" });
  return credential;
}
