/** The keys the store knows. The first pair comes from the command line; tests add, expire and revoke others. */
import { createHash, timingSafeEqual } from "node:crypto";

/** One key pair, optionally temporary (with a session token and an end). */
export type Credential = {
  readonly accessKey: string;
  readonly secretKey: string;
  readonly sessionToken?: string;
  readonly expiresAtMs?: number;
};

/** Credentials by access key, held in memory only. */
export type CredentialBook = Map<string, Credential>;

/** Compares two texts in a time that does not depend on where they differ. */
export function sameText(left: string, right: string): boolean {
  const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(left), digest(right));
}
