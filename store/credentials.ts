/** Access keys that the store accepts. The command line gives the first; tests add, expire and revoke others. */
import { createHash, timingSafeEqual } from "node:crypto";

/** One key pair, optionally temporary (with a session token and an expiry). */
export type Credential = {
  readonly accessKey: string;
  readonly secretKey: string;
  readonly sessionToken?: string;
  readonly expiresAtMs?: number;
};

/** Credentials by access key, in memory only. */
export type CredentialBook = Map<string, Credential>;

/** Compares two texts in constant time. */
export function sameText(left: string, right: string): boolean {
  const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(left), digest(right));
}
