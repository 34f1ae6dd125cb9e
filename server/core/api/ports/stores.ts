import type { S3Client } from "@aws-sdk/client-s3";
import type { Operation, SignedRequest } from "#protocol/wire/operations.ts";
import type { StoreAccess } from "#storage/signing/signing.ts";

/**
 * A store as the hub reaches it. Control calls go to the profile's own endpoint; requests signed for a node use the endpoint
 * of nodes. The signing process makes every signature from the sealed key, so no key is ever in this process.
 */
export interface OpenStore {
  readonly profileId: string;
  readonly profileName: string;
  readonly prefix: string;
  readonly access: StoreAccess;
  readonly client: S3Client;
  /** Signs operations for a node, at the endpoint of nodes. Writes are conditional as for a page. */
  signForNode(operations: readonly Operation[], terms?: { ifThere?: "keep" | "replace" }): Promise<SignedRequest[]>;
  /**
   * Signs for a page, at the endpoint of browsers. Writes are conditional where the store honors that, except with `replace`.
   */
  signForBrowser(
    operations: readonly Operation[],
    terms: { lifetimeMs: number; ifThere?: "keep" | "replace" },
  ): Promise<SignedRequest[]>;
}

/** Opens stores by their profiles and keeps them open. */
export interface Stores {
  /** Returns the open store of a profile. @throws Fault NOT_FOUND, ENDPOINT_REFUSED */
  open(profileId: string): Promise<OpenStore>;
  /** Drops an open store after its profile changed or was removed. */
  forget(profileId: string): void;
  close(): void;
}
