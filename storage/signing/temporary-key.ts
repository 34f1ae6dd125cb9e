import { hash } from "node:crypto";
import { Fault } from "#protocol/faults/fault.ts";
import type { KeyBy } from "#protocol/wire/requests.ts";
import type { StsWay, TemporaryWay } from "#protocol/benchmarks/bench-key.ts";
import { isBenchFolder } from "#protocol/checkpoint/keys.ts";
import { pathOf } from "./signing.ts";
import { encodeRfc3986, signHeaders, type Credential } from "./sigv4.ts";

/**
 * Asks a Security Token Service for a key that ends by itself and opens one folder of one bucket. Signed where the key is
 * that it comes from, and the folder is checked here: whoever may ask for this cannot ask for more. Without the SDK, as all
 * that the process with the keys loads. https://docs.aws.amazon.com/STS/latest/APIReference
 */

export interface TemporaryAsk {
  way: StsWay;
  /** A store of Amazon's gives a key to a federated user where no role is named; others know no such user. */
  isAws: boolean;
  region: string;
  bucket: string;
  /** Of one comparison of engines, with its prefix. */
  folder: string;
  lifetimeMs: number;
}

/** A request that can be sent by whoever has it, once. */
export interface SignedCall {
  url: string;
  headers: Record<string, string>;
  body: string;
}

/** What services give at least, whatever is asked for. */
export const LEAST_LIFETIME_MS = 15 * 60_000;
/** What a role gives unless its owner allows more. */
const MOST_OF_A_ROLE_MS = 3_600_000;
const MOST_LIFETIME_MS = 12 * 3_600_000;

/** How long a key is asked for; ms. */
export function lifetimeFor({ way, lifetimeMs }: { way: TemporaryWay; lifetimeMs: number }): number {
  const isOfRole = way.call === "sts" && way.roleArn !== null;
  return Math.max(LEAST_LIFETIME_MS, Math.min(lifetimeMs, isOfRole ? MOST_OF_A_ROLE_MS : MOST_LIFETIME_MS));
}

/** Names of resources begin so in each part of AWS; everywhere else as in the first. */
const partitionOf = (region: string): string =>
  region.startsWith("cn-") ? "aws-cn" : region.startsWith("us-gov-") ? "aws-us-gov" : "aws";

/** Reads and writes below the folder, and lists it. Deletes nothing: the hub tidies up. */
function policyOf({ region, bucket, folder }: TemporaryAsk): string {
  const resource = `arn:${partitionOf(region)}:s3:::${bucket}`;
  return JSON.stringify({
    Version: "2012-10-17",
    Statement: [
      {
        Effect: "Allow",
        Action: ["s3:GetObject", "s3:PutObject", "s3:AbortMultipartUpload", "s3:ListMultipartUploadParts"],
        Resource: [`${resource}/${folder}*`],
      },
      {
        Effect: "Allow",
        Action: ["s3:ListBucket"],
        Resource: [resource],
        Condition: { StringLike: { "s3:prefix": [`${folder}*`] } },
      },
    ],
  });
}

/** Shown in the logs of the store's owner. */
const NAME = "tidemark-benchmark";

/** The call, signed. @throws Fault BAD_INPUT for anything but the folder of a comparison */
export function askTemporaryKey(ask: TemporaryAsk, scope: { credential: Credential; nowMs: number }): SignedCall {
  const { way, isAws, region, folder } = ask;
  if (!isBenchFolder(folder)) throw new Fault("BAD_INPUT", { op: "temporary key", subject: folder });
  const asked: readonly (readonly [string, string])[] =
    way.roleArn === null && isAws
      ? [
          ["Action", "GetFederationToken"],
          ["Name", NAME],
        ]
      : [
          ["Action", "AssumeRole"],
          ["RoleSessionName", NAME],
          ...(way.roleArn === null ? [] : [["RoleArn", way.roleArn] as const]),
        ];
  const form: Form = [
    ...asked,
    ["DurationSeconds", String(Math.floor(lifetimeFor(ask) / 1000))],
    ["Policy", policyOf(ask)],
  ];
  return signCall({ endpoint: way.endpoint, region, form }, scope);
}

type Form = readonly (readonly [name: string, value: string])[];

/** A call of a Security Token Service, signed. */
function signCall(
  call: { endpoint: string; region: string; form: Form },
  scope: { credential: Credential; nowMs: number },
): SignedCall {
  const body = [["Version", "2011-06-15"] as const, ...call.form]
    .map(([name, value]) => `${name}=${encodeRfc3986(value)}`)
    .join("&");
  const { origin } = new URL(call.endpoint);
  const path = `${pathOf(call.endpoint)}/`;
  const headers = { "content-type": "application/x-www-form-urlencoded; charset=utf-8" };
  const signed = signHeaders(
    { method: "POST", origin, path, query: [], headers },
    { ...scope, region: call.region, service: "sts", payloadHash: hash("sha256", body) },
  );
  return { url: `${origin}${path}`, headers: signed, body };
}

/** What a hub asks for with the key of a profile that is used by role. */
export interface SessionAsk {
  keyBy: KeyBy;
  region: string;
  bucket: string;
}

/** How long a session lasts: what a role gives unless its owner allows less. */
export const SESSION_MS = MOST_OF_A_ROLE_MS;
const SESSION_NAME = "tidemark-hub";

/** The call for a session that opens the profile's bucket at most, whatever the role opens. */
export function askSessionKey(ask: SessionAsk, scope: { credential: Credential; nowMs: number }): SignedCall {
  const { keyBy, region, bucket } = ask;
  const seconds = Math.floor(SESSION_MS / 1000);
  if (keyBy.call === "r2") {
    const { accessKeyId, secretAccessKey } = scope.credential;
    return {
      url: keyBy.url,
      headers: { authorization: `Bearer ${secretAccessKey}`, "content-type": "application/json" },
      body: JSON.stringify({
        bucket,
        parentAccessKeyId: accessKeyId,
        permission: "object-read-write",
        ttlSeconds: seconds,
      }),
    };
  }
  const resource = `arn:${partitionOf(region)}:s3:::${bucket}`;
  const policy = JSON.stringify({
    Version: "2012-10-17",
    Statement: [{ Effect: "Allow", Action: ["s3:*"], Resource: [resource, `${resource}/*`] }],
  });
  const form: Form = [
    ["Action", "AssumeRole"],
    ["RoleSessionName", SESSION_NAME],
    ...(keyBy.roleArn === null ? [] : [["RoleArn", keyBy.roleArn] as const]),
    ...(keyBy.externalId === null ? [] : [["ExternalId", keyBy.externalId] as const]),
    ["DurationSeconds", String(seconds)],
    ["Policy", policy],
  ];
  return signCall({ endpoint: keyBy.endpoint, region, form }, scope);
}
