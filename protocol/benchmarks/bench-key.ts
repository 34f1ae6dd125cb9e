import * as z from "zod";
import { id } from "../base/names.ts";
import { endpoint, roleArn } from "../wire/requests.ts";

/** The key that engines of other people work with at one bucket: given for that, or made by the store for each turn. */

const secret = z.string().trim().min(1).max(512);
const accessKeyId = z.string().trim().min(1).max(256);

/** How a Security Token Service is asked: AWS, and those who speak as it does. */
export const stsWay = z.object({
  call: z.literal("sts"),
  endpoint,
  /** Of the role to take. Null: on AWS a federated user, elsewhere the user that asks. */
  roleArn: roleArn.nullable(),
});
export type StsWay = z.infer<typeof stsWay>;

/** How Cloudflare is asked: its own API, with a token of its own; the new key has the rights of `parentAccessKeyId` at most. */
const r2Way = z.object({
  call: z.literal("r2"),
  url: z.url({ protocol: /^https?$/ }).max(512),
  parentAccessKeyId: accessKeyId,
  apiToken: secret,
});
export type R2Way = z.infer<typeof r2Way>;

/** How a store is asked for keys that end by themselves. */
export const temporaryWay = z.discriminatedUnion("call", [stsWay, r2Way]);
export type TemporaryWay = z.infer<typeof temporaryWay>;

export const benchKey = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("given"), accessKeyId, secretAccessKey: secret }),
  z.object({ kind: z.literal("temporary"), way: temporaryWay }),
]);

export const setBenchKeyInput = z.object({
  profileId: id,
  key: benchKey,
  /** Storj's own program needs one. */
  grant: z.string().trim().min(1).max(1024).nullable(),
});

/** Where temporary keys are to be had: an address of its own for each way of asking. */
export interface TemporaryPlace {
  call: TemporaryWay["call"];
  address: string;
}

/** What stands of it in the list of buckets; the key itself is not shown again. */
export interface BenchKeyView {
  profileId: string;
  profileName: string;
  /** Null: there is none, so engines that need a key do not run there. */
  kind: "given" | "temporary" | null;
  /** The last four characters of one that was given. */
  accessKeyHint: string | null;
  hasGrant: boolean;
  updatedAt: number | null;
  /** Where this bucket's store gives out temporary keys, and how it is asked; null: nowhere that is known. */
  temporary: TemporaryPlace | null;
}
