import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { Fault } from "#protocol/faults/fault.ts";

/**
 * Makes the cursor of a listing for a browser: the store's continuation token, encrypted with a key of this process and bound
 * to the query. A browser can neither read the token, nor use it for another listing, nor forge one. Cursors end when the hub
 * restarts; the page then lists again from the last key it saw.
 */

const KEY = randomBytes(32);
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** The listing that a cursor is bound to: procedure, profile, prefix. */
export type CursorOf = readonly string[];

export function sealCursor(of: CursorOf, token: string): string {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv("aes-256-gcm", KEY, nonce).setAAD(Buffer.from(JSON.stringify(of)));
  const sealed = Buffer.concat([cipher.update(token, "utf8"), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString("base64url");
}

/** Returns the store's token. @throws Fault LISTING_OVER when this process did not make the cursor for this listing */
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
