import type { S3Client } from "@aws-sdk/client-s3";
import { Fault } from "#protocol/fault.ts";
import type { ProfileTestView } from "#protocol/views.ts";
import type { RequestSource, StoreAccess } from "./signing.ts";

export interface CheckStoreInput {
  client: S3Client;
  access: StoreAccess;
  source: RequestSource;
  fetch: typeof globalThis.fetch;
  /** The profile's prefix: empty, or ending in `/`. */
  prefix: string;
  now?: () => number;
  /** Longest wait for one answer. */
  timeoutMs?: number;
}

/** Runs every operation the product needs under a scratch prefix and says what the store answered. Never throws. */
export async function checkStore(input: CheckStoreInput): Promise<ProfileTestView> {
  throw new Fault("UNSUPPORTED", { op: "checkStore", subject: input.access.bucket });
}
