import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  type KeyObject,
} from "node:crypto";
import { Fault } from "#protocol/faults/fault.ts";

/**
 * Hybrid public key encryption (RFC 9180): base mode, single message, DHKEM(X25519, HKDF-SHA256), HKDF-SHA256 and
 * AES-256-GCM. OpenSSL provides the primitives. This file combines them as sections 4.1, 5.1 and 6.1 say, tested with the
 * RFC's vectors. The public key can only encrypt.
 */

/** Names and key lengths of the AEADs by their RFC numbers; only the test vectors use 1. */
const AEADS = { 1: { name: "aes-128-gcm", keyBytes: 16 }, 2: { name: "aes-256-gcm", keyBytes: 32 } } as const;
type Aead = keyof typeof AEADS;

const KEM_ID = 0x0020;
const KDF_ID = 0x0001;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** Length of an X25519 key, and of the encapsulated key before the ciphertext. */
const KEY_BYTES = 32;
const NOTHING = Buffer.alloc(0);

const u16 = (value: number): Buffer => Buffer.from([value >> 8, value & 0xff]);

const extract = (salt: Buffer, input: Buffer): Buffer => createHmac("sha256", salt).update(input).digest();

function expand(key: Buffer, info: Buffer, length: number): Buffer {
  const blocks: Buffer[] = [];
  let last: Buffer = NOTHING;
  for (let block = 1; (block - 1) * 32 < length; block++) {
    last = createHmac("sha256", key)
      .update(last)
      .update(info)
      .update(Buffer.from([block]))
      .digest();
    blocks.push(last);
  }
  return Buffer.concat(blocks).subarray(0, length);
}

const labeled = (suite: Buffer, label: string, input: Buffer): Buffer =>
  Buffer.concat([Buffer.from("HPKE-v1"), suite, Buffer.from(label), input]);
const labeledExtract = (suite: Buffer, salt: Buffer, about: { label: string; input: Buffer }): Buffer =>
  extract(salt, labeled(suite, about.label, about.input));
const labeledExpand = (suite: Buffer, key: Buffer, about: { label: string; info: Buffer; length: number }): Buffer =>
  expand(key, Buffer.concat([u16(about.length), labeled(suite, about.label, about.info)]), about.length);

const KEM_SUITE = Buffer.concat([Buffer.from("KEM"), u16(KEM_ID)]);
const suiteOf = (aead: Aead): Buffer => Buffer.concat([Buffer.from("HPKE"), u16(KEM_ID), u16(KDF_ID), u16(aead)]);

const rawOf = (key: KeyObject): Buffer => Buffer.from(key.export({ format: "jwk" }).x ?? "", "base64url");

/** Reads a raw public key. @throws Fault BAD_INPUT unless it has 32 bytes */
export function readPublicKey(raw: Uint8Array): KeyObject {
  if (raw.length !== KEY_BYTES) throw new Fault("BAD_INPUT", { op: "seal", subject: "public key" });
  const x = Buffer.from(raw).toString("base64url");
  return createPublicKey({ key: { kty: "OKP", crv: "X25519", x }, format: "jwk" });
}

/** DER prefix of an X25519 private key in PKCS#8 (RFC 8410); the raw key follows. */
const PKCS8_START = Buffer.from("302e020100300506032b656e04220420", "hex");

/** Reads a raw private key. @throws Fault BAD_INPUT unless it has 32 bytes */
export function readPrivateKey(raw: Uint8Array): KeyObject {
  if (raw.length !== KEY_BYTES) throw new Fault("BAD_INPUT", { op: "seal", subject: "private key" });
  return createPrivateKey({ key: Buffer.concat([PKCS8_START, raw]), format: "der", type: "pkcs8" });
}

/** Returns a new key pair, raw. */
export function makeKeyPair(): { publicKey: Buffer; privateKey: Buffer } {
  const { privateKey } = generateKeyPairSync("x25519");
  const raw = Buffer.from(privateKey.export({ format: "jwk" }).d ?? "", "base64url");
  return { publicKey: publicKeyOf(raw), privateKey: raw };
}

export const publicKeyOf = (privateKey: Uint8Array): Buffer => rawOf(createPublicKey(readPrivateKey(privateKey)));

/** Derives the shared secret from the Diffie-Hellman result (section 4.1). */
function sharedSecret(dh: Buffer, about: { enc: Buffer; recipient: Buffer }): Buffer {
  const context = Buffer.concat([about.enc, about.recipient]);
  const prk = labeledExtract(KEM_SUITE, NOTHING, { label: "eae_prk", input: dh });
  return labeledExpand(KEM_SUITE, prk, { label: "shared_secret", info: context, length: 32 });
}

/** Derives the key and nonce of the first message (section 5.1, base mode). */
function schedule(aead: Aead, secret: Buffer, info: Uint8Array): { key: Buffer; nonce: Buffer } {
  const suite = suiteOf(aead);
  const pskIdHash = labeledExtract(suite, NOTHING, { label: "psk_id_hash", input: NOTHING });
  const infoHash = labeledExtract(suite, NOTHING, { label: "info_hash", input: Buffer.from(info) });
  const context = Buffer.concat([Buffer.from([0]), pskIdHash, infoHash]);
  const prk = labeledExtract(suite, secret, { label: "secret", input: NOTHING });
  return {
    key: labeledExpand(suite, prk, { label: "key", info: context, length: AEADS[aead].keyBytes }),
    nonce: labeledExpand(suite, prk, { label: "base_nonce", info: context, length: NONCE_BYTES }),
  };
}

export interface Terms {
  /** Purpose of the message; both sides use the same. */
  info: Uint8Array;
  /** Context that is authenticated but not part of the message. */
  aad: Uint8Array;
  aead?: Aead;
}

/** Encrypts `text` for the holder of the private key. Returns encapsulated key and ciphertext. `ephemeral`: for test vectors. */
export function sealFor(publicKey: Uint8Array, text: Uint8Array, terms: Terms & { ephemeral?: Uint8Array }): Buffer {
  const { info, aad, aead = 2 } = terms;
  const own = terms.ephemeral ?? makeKeyPair().privateKey;
  const enc = publicKeyOf(own);
  const recipient = Buffer.from(publicKey);
  const dh = diffieHellman({ privateKey: readPrivateKey(own), publicKey: readPublicKey(recipient) });
  const { key, nonce } = schedule(aead, sharedSecret(dh, { enc, recipient }), info);
  const cipher = createCipheriv(AEADS[aead].name, key, nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(aad);
  return Buffer.concat([enc, cipher.update(text), cipher.final(), cipher.getAuthTag()]);
}

/** Decrypts a message. @throws Fault SEAL_BROKEN when key or terms differ, or the message was changed */
export function openSealed(privateKey: Uint8Array, sealed: Uint8Array, terms: Terms): Buffer {
  const { info, aad, aead = 2 } = terms;
  try {
    const bytes = Buffer.from(sealed);
    if (bytes.length < KEY_BYTES + TAG_BYTES) throw new Error("it is too short");
    const enc = bytes.subarray(0, KEY_BYTES);
    const recipient = publicKeyOf(privateKey);
    const dh = diffieHellman({ privateKey: readPrivateKey(privateKey), publicKey: readPublicKey(enc) });
    const { key, nonce } = schedule(aead, sharedSecret(dh, { enc, recipient }), info);
    const decipher = createDecipheriv(AEADS[aead].name, key, nonce, { authTagLength: TAG_BYTES });
    decipher.setAAD(aad);
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
    return Buffer.concat([decipher.update(bytes.subarray(KEY_BYTES, -TAG_BYTES)), decipher.final()]);
  } catch (cause) {
    throw new Fault("SEAL_BROKEN", { op: "unwrap", cause });
  }
}
