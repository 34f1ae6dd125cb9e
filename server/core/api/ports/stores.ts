import type { S3Client } from "@aws-sdk/client-s3";
import type { Operation, SignedRequest } from "#protocol/wire/operations.ts";
import type { StoreAccess } from "#storage/signing/signing.ts";

/**
 * A store as the hub reaches it. Control calls go to the profile's own endpoint; what is signed for a node carries the
 * endpoint nodes use. Every signature is made by the keeper from the sealed key: nothing here ever holds a key.
 */
export interface OpenStore {
  readonly profileId: string;
  readonly profileName: string;
  readonly prefix: string;
  readonly access: StoreAccess;
  readonly client: S3Client;
  /** Signs for a node. */
  signForNode(operations: readonly Operation[]): Promise<SignedRequest[]>;
  /** Signs for a page, at the endpoint browsers use. Writes are conditional where the store honours that, except to `replace`. */
  signForBrowser(
    operations: readonly Operation[],
    terms: { lifetimeMs: number; ifThere?: "keep" | "replace" },
  ): Promise<SignedRequest[]>;
}

/** Opens stores by their profiles and keeps them open. */
export interface Stores {
  /** @throws Fault NOT_FOUND, ENDPOINT_REFUSED */
  open(profileId: string): Promise<OpenStore>;
  /** After a profile changed or went away. */
  forget(profileId: string): void;
  close(): void;
}
