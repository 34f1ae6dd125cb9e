import { expect, it } from "vitest";
import { filePath } from "#protocol/base/names.ts";
import {
  fileKeyOf,
  fingerprintOf,
  hiddenPathOf,
  newCheckpointKey,
  openInside,
  sealInside,
  unwrapCheckpointKey,
  wrapCheckpointKey,
} from "./checkpoint-key.ts";
import { makeKeyPair } from "./hpke.ts";

const broken = expect.objectContaining({ code: "SEAL_BROKEN" });
const at = { keyId: "0123456789", id: "checkpoint-1", run: "llama", step: 500 };

it("a wrapped key is that of one checkpoint: it opens as the key of no other, and with no other private key", () => {
  const { publicKey, privateKey } = makeKeyPair();
  const key = newCheckpointKey();
  const wrapped = wrapCheckpointKey(publicKey.toString("base64url"), key, at);
  expect(unwrapCheckpointKey(privateKey, wrapped, at)).toEqual(key);
  for (const elsewhere of [{ id: "checkpoint-2" }, { run: "other" }, { step: 501 }, { keyId: "9876543210" }]) {
    expect(() => unwrapCheckpointKey(privateKey, wrapped, { ...at, ...elsewhere })).toThrow(broken);
  }
  expect(() => unwrapCheckpointKey(makeKeyPair().privateKey, wrapped, at)).toThrow(broken);
});

it("files of one checkpoint have keys of their own, and hidden names that say nothing and stay the same", () => {
  const key = newCheckpointKey();
  expect(fileKeyOf(key, "a")).not.toEqual(fileKeyOf(key, "b"));
  expect(fileKeyOf(key, "a")).not.toEqual(fileKeyOf(newCheckpointKey(), "a"));
  expect(hiddenPathOf(key, "secret-project.bin")).toBe(hiddenPathOf(key, "secret-project.bin"));
  expect(hiddenPathOf(key, "secret-project.bin")).toMatch(/^_tidemark\.sealed\/[0-9a-f]{32}$/);
  expect(hiddenPathOf(newCheckpointKey(), "secret-project.bin")).not.toBe(hiddenPathOf(key, "secret-project.bin"));
});

it("what stands inside the manifest opens with the key, for this manifest, unchanged", () => {
  const key = newCheckpointKey();
  const inside = { paths: [filePath.parse("secret.bin")], sums: [["00000000"]] };
  const sealed = sealInside(key, inside, "bound");
  expect(sealed).not.toContain("secret");
  expect(openInside(key, sealed, "bound")).toEqual(inside);
  expect(() => openInside(key, sealed, "elsewhere")).toThrow(broken);
  expect(() => openInside(newCheckpointKey(), sealed, "bound")).toThrow(broken);
  expect(() => openInside(key, sealed.slice(0, 10), "bound")).toThrow(broken);
});

it("a fingerprint is short enough to be compared by eye", () => {
  expect(fingerprintOf(makeKeyPair().publicKey.toString("base64url"))).toMatch(/^([0-9a-f]{4} ){5}[0-9a-f]{4}$/);
});
