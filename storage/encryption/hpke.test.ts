import { expect, it } from "vitest";
import { makeKeyPair, openSealed, publicKeyOf, sealFor } from "./hpke.ts";

const hex = (text: string) => Buffer.from(text, "hex");

// RFC 9180, appendix A.1.1: DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-128-GCM, base mode, sequence number 0.
const ephemeral = hex("52c4a758a802cd8b936eceea314432798d5baf2d7e9235dc084ab1b9cfa2f736");
const enc = "37fda3567bdbd628e88668c3c8d7e97d1d1253b6d4ea6d44c150f741f1bf4431";
const publicKey = hex("3948cfe0ad1ddb695d780e59077195da6c56506b027329794ab02bca80815c4d");
const privateKey = hex("4612c550263fc8ad58375df3f557aac531d26850903e55a9f23f21d8534e8ac8");
const terms = { info: hex("4f6465206f6e2061204772656369616e2055726e"), aad: hex("436f756e742d30") };
const text = hex("4265617574792069732074727574682c20747275746820626561757479");
const AES_128 = "f938558b5d72f1a23810b4be2ab4f84331acc02fc97babc53a52ae8218a355a96d8770ac83d07bea87e13c512a";
// The same keys and texts with AES-256-GCM, as another implementation of the RFC (@hpke/core 1.9.0) writes them.
const AES_256 = "090b7dc225419f7da9e8b460becfbb96a26c7964d79b8010d397fa838530a32a397b14f5776db19ff5e57734e0";

it("writes what the published vector says, and what another implementation writes", () => {
  const sealed = (aead: 1 | 2) => sealFor(publicKey, text, { ...terms, aead, ephemeral }).toString("hex");
  expect(publicKeyOf(ephemeral).toString("hex")).toBe(enc);
  expect(publicKeyOf(privateKey)).toEqual(publicKey);
  expect(sealed(1)).toBe(enc + AES_128);
  expect(sealed(2)).toBe(enc + AES_256);
  for (const [aead, ciphertext] of [
    [1, AES_128],
    [2, AES_256],
  ] as const) {
    expect(openSealed(privateKey, hex(enc + ciphertext), { ...terms, aead })).toEqual(text);
  }
});

it("opens with the private key alone, and not for other terms", () => {
  const pair = makeKeyPair();
  const sealed = sealFor(pair.publicKey, text, terms);
  expect(openSealed(pair.privateKey, sealed, terms)).toEqual(text);
  const broken = expect.objectContaining({ code: "SEAL_BROKEN" });
  expect(() => openSealed(makeKeyPair().privateKey, sealed, terms)).toThrow(broken);
  expect(() => openSealed(pair.privateKey, sealed, { ...terms, aad: hex("00") })).toThrow(broken);
  expect(() => openSealed(pair.privateKey, sealed, { ...terms, info: hex("00") })).toThrow(broken);
  expect(() => openSealed(pair.privateKey, sealed.subarray(0, 40), terms)).toThrow(broken);
});

it("is different each time, and does not open after any bit of it was flipped", () => {
  const pair = makeKeyPair();
  const sealed = sealFor(pair.publicKey, text, terms);
  expect(sealFor(pair.publicKey, text, terms)).not.toEqual(sealed);
  for (let bit = 0; bit < sealed.length * 8; bit++) {
    // X25519 does not look at the highest bit of a public key; RFC 9180 binds the bytes as they came, so this one counts too.
    const changed = Buffer.from(sealed);
    changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    expect(() => openSealed(pair.privateKey, changed, terms)).toThrow(expect.objectContaining({ code: "SEAL_BROKEN" }));
  }
});
