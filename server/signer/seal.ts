import { createCipheriv, createDecipheriv, randomBytes, scryptSync } from "node:crypto";
import { Fault } from "#protocol/faults/fault.ts";

/**
 * Seals bucket keys for the database by envelope encryption. Each is encrypted with its own random key (AES-256-GCM, random
 * 96-bit IV), and that key is wrapped with the master key. Both ciphertexts bind the place of the text (table, row, field) and
 * the version of the master key as additional data: a sealed text that is moved to another row, or marked with another version,
 * does not open. So a change of the master key seals each text again, with a new key of its own (rewrap.ts).
 *
 * Form: `tm1.{keyVersion}.{iv}.{wrapped key + tag}.{iv}.{ciphertext + tag}`, base64url.
 */

export interface MasterKey {
  /** Raised when the master key is replaced; a sealed text contains the version it was sealed with. */
  version: number;
  bytes: Buffer;
}

const SHORTEST_SECRET = 32;
/** Least number of different characters: 32 random hexadecimal digits have fewer once in a hundred million. */
const FEWEST_DIFFERENT = 8;
/** Texts of examples and templates. */
const PLACEHOLDER = /change[-_ ]?(me|this|it)|replace[-_ ]?(me|this|with)|your[-_ ]|example|placeholder|default|passw/i;
const TAG_BYTES = 16;
const IV_BYTES = 12;

const isRepeated = (text: string): boolean => `${text}${text}`.indexOf(text, 1) < text.length;

/** Refuses a secret that cannot be random: too short, repeated, or a placeholder. @throws Fault MASTER_KEY_WEAK */
export function refuseWeakSecret(secret: string): void {
  const isVaried = new Set(secret).size >= FEWEST_DIFFERENT && !isRepeated(secret);
  if (secret.length < SHORTEST_SECRET || !isVaried || PLACEHOLDER.test(secret)) throw new Fault("MASTER_KEY_WEAK");
}

/** Derives the master key from the text of TIDEMARK_SECRET or of the key file. */
export function deriveMasterKey(secret: string, version: number): MasterKey {
  // A fixed salt: the secret is random by requirement, and the cost makes guessing a weak one slow.
  const bytes = scryptSync(secret, "tidemark master key v1", 32, { N: 2 ** 15, r: 8, p: 1, maxmem: 64 * 1024 * 1024 });
  return { version, bytes };
}

function encrypt(key: Buffer, text: Buffer, bound: string): [iv: Buffer, sealed: Buffer] {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv("aes-256-gcm", key, iv, { authTagLength: TAG_BYTES });
  cipher.setAAD(Buffer.from(bound));
  const sealed = Buffer.concat([cipher.update(text), cipher.final(), cipher.getAuthTag()]);
  return [iv, sealed];
}

function decrypt(key: Buffer, parts: { iv: Buffer; sealed: Buffer }, bound: string): Buffer {
  const { iv, sealed } = parts;
  const decipher = createDecipheriv("aes-256-gcm", key, iv, { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.from(bound));
  decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
  return Buffer.concat([decipher.update(sealed.subarray(0, -TAG_BYTES)), decipher.final()]);
}

/** Seals `text` for `place`, written as `table|rowId|field`. */
export function seal(master: MasterKey, place: string, text: string): string {
  const bound = `${place}|${master.version}`;
  const ownKey = randomBytes(32);
  const [wrapIv, wrapped] = encrypt(master.bytes, ownKey, `${bound}|key`);
  const [iv, sealed] = encrypt(ownKey, Buffer.from(text, "utf8"), bound);
  const encoded = [wrapIv, wrapped, iv, sealed].map((part) => part.toString("base64url"));
  return ["tm1", String(master.version), ...encoded].join(".");
}

/** Returns the version of the master key that a sealed text names; 0 for any other text. */
export function keyVersionOf(sealedText: string): number {
  const [form, version = ""] = sealedText.split(".", 2);
  return form === "tm1" && /^[1-9]\d{0,8}$/.test(version) ? Number(version) : 0;
}

/**
 * Returns the text sealed for `place`.
 * @throws Fault MASTER_KEY_WRONG when it does not open: another key, another place, or changed bytes
 */
export function unseal(master: MasterKey, place: string, sealedText: string): string {
  const [form, version, ...encoded] = sealedText.split(".");
  const [wrapIv, wrapped, iv, sealed] = encoded.map((part) => Buffer.from(part, "base64url"));
  if (form !== "tm1" || !wrapIv || !wrapped || !iv || !sealed) throw new Fault("MASTER_KEY_WRONG", { op: "unseal" });
  const bound = `${place}|${version}`;
  try {
    if (Number(version) !== master.version) throw new Error("sealed with another version of the key");
    const ownKey = decrypt(master.bytes, { iv: wrapIv, sealed: wrapped }, `${bound}|key`);
    return decrypt(ownKey, { iv, sealed }, bound).toString("utf8");
  } catch (cause) {
    throw new Fault("MASTER_KEY_WRONG", { op: "unseal", cause });
  }
}
