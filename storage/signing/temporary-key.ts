import { hash } from "node:crypto";
import { Fault } from "#protocol/faults/fault.ts";
import type { KeyBy } from "#protocol/wire/requests.ts";
import type { StsWay, TemporaryWay } from "#protocol/benchmarks/bench-key.ts";
import { isBenchFolder } from "#protocol/checkpoint/keys.ts";
import { pathOf } from "./signing.ts";
import { encodeRfc3986, signHeaders, type Credential } from "./sigv4.ts";

/**
 * Builds the calls to a Security Token Service for keys that expire and open one folder of one bucket. The process that
 * holds the key signs them and checks the folder here, so a caller cannot obtain wider access. Uses no SDK, as everything
 * that the key-holding process loads. https://docs.aws.amazon.com/STS/latest/APIReference
 */

export interface TemporaryAsk {
  way: StsWay;
  /** Without a role, AWS issues keys to a federated user; other services know no such user. */
  isAws: boolean;
  region: string;
  bucket: string;
  /** Key prefix of one benchmark run. */
  folder: string;
  lifetimeMs: number;
}

/** A signed HTTP POST that any client can send once. */
export interface SignedCall {
  url: string;
  headers: Record<string, string>;
  body: string;
}

/** Shortest lifetime that services accept. */
export const LEAST_LIFETIME_MS = 15 * 60_000;
/** Longest lifetime of a role's session unless its owner allows more. */
const MOST_OF_A_ROLE_MS = 3_600_000;
const MOST_LIFETIME_MS = 12 * 3_600_000;

/** Returns the lifetime to request, ms. */
export function lifetimeFor({ way, lifetimeMs }: { way: TemporaryWay; lifetimeMs: number }): number {
  const isOfRole = way.call === "sts" && way.roleArn !== null;
  return Math.max(LEAST_LIFETIME_MS, Math.min(lifetimeMs, isOfRole ? MOST_OF_A_ROLE_MS : MOST_LIFETIME_MS));
}

/** Returns the partition in resource names (ARNs). Other providers use that of commercial AWS. */
const partitionOf = (region: string): string =>
  region.startsWith("cn-") ? "aws-cn" : region.startsWith("us-gov-") ? "aws-us-gov" : "aws";

/** Returns a policy that allows reading, writing and listing below the folder. It allows no deletion: the hub cleans up. */
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

/** Session name, shown in the store owner's logs. */
const NAME = "tidemark-benchmark";

/**
 * Returns the signed call.
 * @throws Fault BAD_INPUT for anything but the folder of a benchmark
 */
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

/** Signs a call of a Security Token Service. */
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

/** Parameters of a hub session: the bucket profile is used through a role or a parent key. */
export interface SessionAsk {
  keyBy: KeyBy;
  region: string;
  bucket: string;
}

/** Lifetime of a session, ms: a role's default maximum. */
export const SESSION_MS = MOST_OF_A_ROLE_MS;
const SESSION_NAME = "tidemark-hub";

/** Returns the call for a session that opens at most the profile's bucket, even if the role permits more. */
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
