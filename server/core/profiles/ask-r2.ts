import * as z from "zod";
import type { R2Way } from "#protocol/benchmarks/bench-key.ts";
import { parseJsonOrNull } from "#protocol/base/parse-json-or-null.ts";
import { Fault } from "#protocol/faults/fault.ts";
import type { HttpAnswer } from "#storage/answers/faults.ts";
import type { Credential } from "#storage/signing/sigv4.ts";
import type { SignedCall } from "#storage/signing/temporary-key.ts";

/**
 * Returns the request that asks Cloudflare for a temporary R2 key, limited to one folder.
 * https://developers.cloudflare.com/api/resources/r2/subresources/temporary_credentials/methods/create
 */
export function askR2Key(ask: { way: R2Way; bucket: string; folder: string; lifetimeMs: number }): SignedCall {
  const { way, bucket, folder, lifetimeMs } = ask;
  return {
    url: way.url,
    headers: { authorization: `Bearer ${way.apiToken}`, "content-type": "application/json" },
    body: JSON.stringify({
      bucket,
      parentAccessKeyId: way.parentAccessKeyId,
      permission: "object-read-write",
      prefixes: [folder],
      ttlSeconds: Math.floor(lifetimeMs / 1000),
    }),
  };
}

const made = z.object({
  success: z.literal(true),
  result: z.object({
    accessKeyId: z.string().min(1),
    secretAccessKey: z.string().min(1),
    sessionToken: z.string().min(1),
  }),
});
const refused = z.object({ errors: z.array(z.object({ code: z.number(), message: z.string() })).min(1) });

/** Returns the key in Cloudflare's answer. @throws Fault ACCESS_DENIED, STORE_UNAVAILABLE, UNEXPECTED_ANSWER with its words */
export function readR2Key({ status, body }: Pick<HttpAnswer, "status" | "body">, op: string): Credential {
  const parsed = parseJsonOrNull(body.toString());
  const key = made.safeParse(parsed);
  if (status === 200 && key.success) return key.data.result;
  const words = refused.safeParse(parsed);
  const [first] = words.success ? words.data.errors : [];
  const detail = first === undefined ? `HTTP ${status}` : `${first.code}: ${first.message.slice(0, 300)}`;
  const code =
    status === 401 || status === 403 ? "ACCESS_DENIED" : status >= 500 ? "STORE_UNAVAILABLE" : "UNEXPECTED_ANSWER";
  throw new Fault(code, { op, status, detail });
}
