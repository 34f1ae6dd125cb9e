import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { Fault } from "#protocol/faults/fault.ts";

/**
 * Where a listing goes on, as it is given to a browser: the store's own token, sealed with a key of this process and bound to
 * what was asked. So nobody reads a store's token, hands the hub one of another listing, or makes one up. It is over when
 * the hub starts anew; whoever holds one then lists again from the last key they saw.
 */

const KEY = randomBytes(32);
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** What a cursor belongs to: procedure, profile, prefix. */
export type CursorOf = readonly string[];

export function sealCursor(of: CursorOf, token: string): string {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv("aes-256-gcm", KEY, nonce).setAAD(Buffer.from(JSON.stringify(of)));
  const sealed = Buffer.concat([cipher.update(token, "utf8"), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString("base64url");
}

/** @throws Fault LISTING_OVER when it was not made by this process for this listing */
export function openCursor(of: CursorOf, cursor: string): string {
  const bytes = Buffer.from(cursor, "base64url");
  try {
    const nonce = bytes.subarray(0, NONCE_BYTES);
    const tag = bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES);
    const decipher = createDecipheriv("aes-256-gcm", KEY, nonce, { authTagLength: TAG_BYTES })
      .setAAD(Buffer.from(JSON.stringify(of)))
      .setAuthTag(tag);
    const sealed = bytes.subarray(NONCE_BYTES + TAG_BYTES);
    return decipher.update(sealed, undefined, "utf8") + decipher.final("utf8");
  } catch {
    throw new Fault("LISTING_OVER", { op: "list" });
  }
}
