import { randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { locate } from "#storage/signing/signing.ts";
import type { Hub } from "../core/api/hub.ts";
import { accessOf, draftOf } from "../core/profiles/open-store.ts";

/** Returns the origins that browsers may move bytes to and from: exactly those that requests are signed for. */
export async function bucketOrigins({ db }: Pick<Hub, "db">): Promise<string[]> {
  const rows = await db.profile.findMany();
  return [...new Set(rows.map((row) => locate(accessOf(draftOf(row), { side: "browser", found: null }), "x").origin))];
}

/**
 * Returns the content security policy of one answer: scripts and styles of this hub only, with the nonce of this answer; no
 * frame around it; connections to the hub and to the buckets.
 */
export const policyWith = (nonce: string, connectTo: readonly string[]): string =>
  [
    "default-src 'self'",
    `script-src 'self' 'nonce-${nonce}' 'strict-dynamic'`,
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data: blob:",
    "font-src 'self'",
    "worker-src 'self'",
    ["connect-src 'self'", ...connectTo].join(" "),
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join("; ");

/** Sets the headers that every answer carries. */
export function hardenAnswer(hub: Pick<Hub, "settings">, response: ServerResponse): void {
  response.setHeader("x-content-type-options", "nosniff");
  response.setHeader("referrer-policy", "same-origin");
  response.setHeader("cross-origin-opener-policy", "same-origin");
  response.setHeader("permissions-policy", "camera=(), microphone=(), geolocation=()");
  response.setHeader("x-frame-options", "DENY");
  if (hub.settings.publicUrl?.protocol === "https:") {
    response.setHeader("strict-transport-security", "max-age=31536000");
  }
}

/** Sets the policy on the answer, and on the request, where Next looks for the nonce of its scripts. */
export async function setPagePolicy(hub: Hub, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const policy = policyWith(randomBytes(16).toString("base64"), await bucketOrigins(hub));
  request.headers["content-security-policy"] = policy;
  response.setHeader("content-security-policy", policy);
}
