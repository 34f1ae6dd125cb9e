import * as z from "zod";
import { id } from "../base/names.ts";
import { endpoint, roleArn } from "../wire/requests.ts";

/** The key with which third-party engines use one bucket: given for this purpose, or created by the store for each turn. */

const secret = z.string().trim().min(1).max(512);
const accessKeyId = z.string().trim().min(1).max(256);

/** Asks a Security Token Service for temporary keys: AWS, or a service with the same protocol. */
export const stsWay = z.object({
  call: z.literal("sts"),
  endpoint,
  /** Role to assume. Null: a federated user on AWS, the calling user elsewhere. */
  roleArn: roleArn.nullable(),
});
export type StsWay = z.infer<typeof stsWay>;

/** Asks Cloudflare's own API with an API token. The new key has at most the rights of `parentAccessKeyId`. */
const r2Way = z.object({
  call: z.literal("r2"),
  url: z.url({ protocol: /^https?$/ }).max(512),
  parentAccessKeyId: accessKeyId,
  apiToken: secret,
});
export type R2Way = z.infer<typeof r2Way>;

/** How to ask a store for temporary keys, which expire by themselves. */
export const temporaryWay = z.discriminatedUnion("call", [stsWay, r2Way]);
export type TemporaryWay = z.infer<typeof temporaryWay>;

export const benchKey = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("given"), accessKeyId, secretAccessKey: secret }),
  z.object({ kind: z.literal("temporary"), way: temporaryWay }),
]);

export const setBenchKeyInput = z.object({
  profileId: id,
  key: benchKey,
  /** Access grant, which Storj's own program needs. */
  grant: z.string().trim().min(1).max(1024).nullable(),
});

/** Address at which a store gives out temporary keys, for one way of asking. */
export interface TemporaryPlace {
  call: TemporaryWay["call"];
  address: string;
}

/** The benchmark key as the list of buckets shows it; the key itself is never shown again. */
export interface BenchKeyView {
  profileId: string;
  profileName: string;
  /** Null: no key, so engines that need one do not run there. */
  kind: "given" | "temporary" | null;
  /** The last four characters of a key that was given. */
  accessKeyHint: string | null;
  hasGrant: boolean;
  updatedAt: number | null;
  /** Where the bucket's store gives out temporary keys; null when no such address is known. */
  temporary: TemporaryPlace | null;
}
