import * as z from "zod";
import { storeTrust } from "./store-trust.ts";
import { instant, rowNumber, rowVersion } from "../base/bounded.ts";
import { FLEET, fleetName, id, nodeName, runName } from "../base/names.ts";
import { provider } from "../base/provider.ts";
import { fileChoice, targetPath } from "./restoring.ts";
import { runPatterns } from "../base/scope.ts";
import { importedKey, profileAbout } from "./profiles.ts";
import { transferDirection, transferState } from "./transfer.ts";
import { SHORTEST_PASSWORD } from "../base/password.ts";

/** Inputs of the procedures that people call, parsed at the hub's boundary. */

export const ROLES = ["viewer", "operator", "admin"] as const;
export const role = z.enum(ROLES);
export type Role = z.infer<typeof role>;
/** Returns whether a role includes the needed one: each role includes all lesser ones. */
export const hasRole = (actual: Role, needed: Role): boolean => ROLES.indexOf(actual) >= ROLES.indexOf(needed);

export const email = z.email("this does not look like an e-mail address").max(254).toLowerCase();
export const password = z
  .string()
  .min(SHORTEST_PASSWORD, `a password has at least ${SHORTEST_PASSWORD} characters`)
  .max(256, "a password has at most 256 characters");

export const setupInput = z.object({ code: z.string().min(1).max(128), email, password });
export const signInInput = z.object({ email: z.string().max(254), password: z.string().max(256) });

/** A path has two segments or more: a single segment is a bucket name in the wrong place, as R2's pages show it. */
const ENDPOINT_PATH = /^\/(?:(?:[A-Za-z0-9_~-][A-Za-z0-9._~-]*\/)+[A-Za-z0-9_~-][A-Za-z0-9._~-]*)?$/;

/** Address of a service: scheme and host, and the path of its API if it has one (`/storage/v1/s3` of Supabase). */
export const endpoint = z
  .url({ protocol: /^https?$/, error: "an endpoint looks like https://s3.example.com" })
  .max(512)
  .refine((value) => {
    const url = new URL(value);
    return (
      url.username === "" &&
      url.password === "" &&
      url.search === "" &&
      url.hash === "" &&
      ENDPOINT_PATH.test(url.pathname)
    );
  }, "an endpoint is a scheme and a host, without a bucket, keys or a query");

const prefix = z
  .string()
  .max(256)
  .regex(/^([A-Za-z0-9!_.'()-]+\/)*$/, "a prefix is empty, or ends with '/': for example team-a/")
  .refine(
    (value) => !value.split("/").some((segment) => segment === "." || segment === ".."),
    "'.' and '..' are not allowed",
  );

/** ARN of an IAM role. */
export const roleArn = z
  .string()
  .max(512)
  .regex(
    /^arn:[a-z0-9-]+:iam::[A-Za-z0-9-]*:role\/[A-Za-z0-9+=,.@_/-]+$/,
    "a role looks like arn:aws:iam::123456789012:role/tidemark",
  );

/**
 * Uses the key of a profile only to obtain temporary keys. `sts`: a Security Token Service issues them for a role (`roleArn`
 * null: with the user's own rights, as MinIO does). `r2`: Cloudflare's API issues them for the access key, and the secret is
 * an API token.
 */
export const keyBy = z.discriminatedUnion("call", [
  z.object({
    call: z.literal("sts"),
    endpoint,
    roleArn: roleArn.nullable(),
    externalId: z
      .string()
      .regex(/^[\w+=,.@:/-]{2,1224}$/, "an external id has letters, digits and +=,.@:/-")
      .nullable(),
  }),
  z.object({ call: z.literal("r2"), url: z.url({ protocol: /^https?$/ }).max(512) }),
]);
export type KeyBy = z.infer<typeof keyBy>;

/** A bucket profile as entered. The signature covers the host, so hub, workers and browsers may need separate endpoints. */
export const profileDraft = z.object({
  name: z.string().trim().min(1, "a profile needs a name").max(64),
  provider,
  bucket: z
    .string()
    .regex(
      /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/,
      "a bucket name has 3 to 63 lower-case letters, digits, dots or dashes",
    ),
  region: z.string().regex(/^[a-z0-9-]{1,32}$/, "a region looks like us-east-1, or auto"),
  prefix,
  endpoint,
  /** Endpoint for workers; null: `endpoint`. */
  workerEndpoint: endpoint.nullable(),
  /** Endpoint for browsers; null: `endpoint`. */
  browserEndpoint: endpoint.nullable(),
  addressing: z.enum(["path", "virtual-host"]),
  /** See `storeTrust`. Absent: an update keeps the stored value. */
  trustCa: storeTrust.shape.ca.exactOptional(),
  trustPin: storeTrust.shape.pin.exactOptional(),
});
export type ProfileDraft = z.infer<typeof profileDraft>;

export const credentialDraft = z.object({
  accessKeyId: z.string().trim().min(1, "the access key id is missing").max(256),
  secretAccessKey: z.string().trim().min(1, "the secret access key is missing").max(512),
});
export type CredentialDraft = z.infer<typeof credentialDraft>;

/** A key that was typed, or a reference to one that was read from a pasted text. */
export const keySource = z.union([credentialDraft, importedKey]);
export type KeySource = z.infer<typeof keySource>;

export const createProfileInput = z.object({
  profile: profileDraft,
  credential: keySource,
  /** Null or absent: the key itself signs. */
  keyBy: keyBy.nullable().optional(),
  about: profileAbout.optional(),
});
/** `credential: null` keeps the stored one. A stale `version` is refused. */
export const updateProfileInput = z.object({
  id,
  version: rowVersion,
  profile: profileDraft,
  credential: credentialDraft.nullable(),
  /** Absent: unchanged. */
  keyBy: keyBy.nullable().optional(),
  /** Absent: unchanged. */
  about: profileAbout.optional(),
});
/** Tests a stored profile by id, or a draft before it is saved (`id` then lends its stored credential when none is typed). */
export const testProfileInput = z.object({
  id: id.nullable(),
  profile: profileDraft.nullable(),
  credential: keySource.nullable(),
  /** Absent: the stored profile's; none for a draft. */
  keyBy: keyBy.nullable().optional(),
});

export const createTokenInput = z.object({
  label: z.string().trim().max(64),
  fleet: fleetName.default(FLEET),
  /** Patterns of the runs that its nodes may write; null: the runs that they name when they enrol, and new ones. */
  runs: runPatterns.nullable().default(null),
  profileId: id,
  maxUses: z.number().int().min(1).max(10_000),
  validMs: z
    .number()
    .int()
    .min(60_000)
    .max(366 * 86_400_000),
});

export const setNodeRunsInput = z.object({ id, runs: runPatterns.nullable() });
export const handOverInput = z.object({ run: runName, nodeId: id });

export const planRestoreInput = z.object({ checkpointId: id, nodeId: id.nullable(), choice: fileChoice });
export const createRestoreInput = z.object({
  /** Made by the client, so that a repeated request starts one restore. */
  requestId: id,
  checkpointId: id,
  nodeId: id,
  /** Absent: `restored/RUN/step-N`, outside of the node's watched folders. */
  targetPath: targetPath.optional(),
});

const partOfName = z.string().trim().max(128).default("");
export const listTransfersInput = z.object({
  nodeId: id.nullable(),
  run: runName.nullable(),
  states: z.array(transferState).max(transferState.options.length),
  /** Only these directions; empty: all. */
  directions: z.array(transferDirection).max(transferDirection.options.length).default([]),
  /** Part of the node's name, and part of the run's name. */
  nodeWords: partOfName,
  runWords: partOfName,
  /** Time of creation, epoch ms: `from` inclusive, `to` exclusive. */
  from: instant.nullable().default(null),
  to: instant.nullable().default(null),
  /** Id of the last row of the previous page. */
  cursor: id.nullable(),
  limit: z.number().int().min(1).max(200),
});
export const listEventsInput = z.object({
  nodeId: id.nullable(),
  run: runName.nullable(),
  /** Only these kinds; empty: all. Unknown kinds match nothing. */
  kinds: z.array(z.string().max(64)).max(32).default([]),
  /** Part of the node's name, of the run's name, and of the event's text. */
  nodeWords: partOfName,
  runWords: partOfName,
  words: partOfName,
  /** Epoch ms: `from` inclusive, `to` exclusive. */
  from: instant.nullable().default(null),
  to: instant.nullable().default(null),
  cursor: rowNumber.nullable(),
  limit: z.number().int().min(1).max(200),
});
export const listLossesInput = z.object({
  nodeId: id.nullable(),
  run: runName.nullable(),
  /** Only older losses, epoch ms. */
  before: instant.nullable(),
  limit: z.number().int().min(1).max(200),
});
export const byId = z.object({ id });
/** A node by its id or its present name. */
export const byIdOrName = z.object({ id: id.or(nodeName) });
export const byRun = z.object({ run: runName });
export const transferAction = z.object({
  requestId: id,
  transferId: id,
  action: z.enum(["cancel", "pause", "resume", "retry"]),
});
