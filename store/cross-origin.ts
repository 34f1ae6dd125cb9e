/** CORS for browsers: answers preflights, and adds headers to all other answers. */
import { findBucket } from "./catalog-objects.ts";
import { corsHeaders, matchRule, storedRules, type CorsRequest, type CorsRule } from "./cors.ts";
import type { Database } from "./database.ts";
import { emptyReply, type Reply } from "./reply.ts";
import type { S3Request } from "./request.ts";
import { S3Error } from "./s3-error.ts";

/** Sources of rules: those of the bucket apply first, then those of the command line. */
export type RuleSources = { readonly database: Database; readonly corsRules: readonly CorsRule[] };

function corsRequestOf(head: S3Request): CorsRequest | undefined {
  const origin = head.headers.get("origin");
  if (origin === undefined) return undefined;
  if (head.method !== "OPTIONS") return { origin, method: head.method, headers: [] };
  const asked = head.headers.get("access-control-request-headers") ?? "";
  const headers = asked.split(",").map((name) => name.trim());
  const method = head.headers.get("access-control-request-method") ?? "";
  return { origin, method, headers: headers.filter((name) => name !== "") };
}

/** Returns the CORS headers of an answer; undefined when the origin is absent or not allowed. */
export function crossOrigin(sources: RuleSources, head: S3Request): Record<string, string> | undefined {
  const request = corsRequestOf(head);
  if (request === undefined) return undefined;
  const bucket = head.bucket === undefined ? undefined : findBucket(sources.database, head.bucket);
  const rule = matchRule([...storedRules(bucket?.cors), ...sources.corsRules], request);
  return rule === undefined ? undefined : corsHeaders(rule, request);
}

/** Answers a preflight. Throws AccessForbidden when no rule allows it. */
export function preflight(sources: RuleSources, head: S3Request): Reply {
  if (crossOrigin(sources, head) !== undefined) return emptyReply(200);
  throw new S3Error("AccessForbidden", "CORSResponse: This CORS request is not allowed.");
}
