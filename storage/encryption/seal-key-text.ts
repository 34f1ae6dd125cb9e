import { createHash } from "node:crypto";
import { Fault } from "#protocol/faults/fault.ts";
import { id } from "#protocol/base/names.ts";

/**
 * Text form of the private half of a wrapping key, for people to keep: one line with its type, the id of the key and a
 * checksum, so that a cut or mistyped key is refused.
 */

/** Beginning of every exported key. */
export const EXPORT_FORM = "tidemark-key-1";
const KEY_BYTES = 32;

const sumOf = (keyId: string, key: Uint8Array): string =>
  createHash("sha256").update(`${EXPORT_FORM}|${keyId}|`).update(key).digest("hex").slice(0, 16);

export const writeExport = (keyId: string, key: Buffer): string =>
  [EXPORT_FORM, keyId, key.toString("base64url"), sumOf(keyId, key)].join(".");

/** Parses an exported key. @throws Fault BAD_INPUT, which names the mistake and never contains the text */
export function readExport(text: string): { keyId: string; privateKey: Buffer } {
  const refuse = (detail: string) => new Fault("BAD_INPUT", { op: "import the key", subject: "exported key", detail });
  const [form, keyId, encoded = "", sum, ...more] = text.trim().split(".");
  const parsed = id.safeParse(keyId);
  const privateKey = Buffer.from(encoded, "base64url");
  if (form !== EXPORT_FORM || !parsed.success || more.length > 0)
    throw refuse(`an exported key begins with ${EXPORT_FORM}.`);
  if (privateKey.length !== KEY_BYTES || sum !== sumOf(parsed.data, privateKey)) {
    throw refuse("it was cut or changed: its checksum does not fit");
  }
  return { keyId: parsed.data, privateKey };
}
