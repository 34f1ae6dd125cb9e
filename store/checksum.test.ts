import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { CHECKSUM_ALGORITHMS, declaredChecksum, joinChecksums, requireChecksum, startChecksum } from "./checksum.ts";

function digestOf(algorithm: (typeof CHECKSUM_ALGORITHMS)[number], bytes: Buffer, stepBytes = bytes.length): Buffer {
  const running = startChecksum(algorithm);
  for (let at = 0; at < bytes.length; at += stepBytes) running.update(bytes.subarray(at, at + stepBytes));
  return running.digest();
}

describe("a checksum", () => {
  // The check values of the CRC catalogue, and FIPS 180 for the others.
  it.each([
    ["CRC32", "cbf43926"],
    ["CRC32C", "e3069283"],
    ["CRC64NVME", "ae8b14860a799888"],
    ["SHA1", "f7c3bc1d808e04732adf679965ccc34ca7ae3441"],
    ["SHA256", "15e2b0d3c33891ebb0f1ef609ec419420c20e320ce94c65fbc8c3312448eb225"],
  ] as const)("%s of 123456789 is the published one", (algorithm, hex) => {
    expect(digestOf(algorithm, Buffer.from("123456789")).toString("hex")).toBe(hex);
  });

  it.each(CHECKSUM_ALGORITHMS)("%s does not depend on how the bytes are cut", (algorithm) => {
    const bytes = randomBytes(1003);
    const whole = digestOf(algorithm, bytes);
    for (const stepBytes of [1, 7, 8, 64, 1000]) expect(digestOf(algorithm, bytes, stepBytes).equals(whole)).toBe(true);
  });

  it.each(["CRC32", "CRC32C", "CRC64NVME"] as const)("%s of a whole follows from its parts", (algorithm) => {
    const parts = [5000, 5000, 1, 0, 777].map((sizeBytes) => randomBytes(sizeBytes));
    const joined = joinChecksums(
      { algorithm, type: "FULL_OBJECT" },
      parts.map((part) => ({ value: digestOf(algorithm, part).toString("base64"), sizeBytes: part.length })),
    );
    expect(joined.value).toBe(digestOf(algorithm, Buffer.concat(parts)).toString("base64"));
  });

  it("that is composite is the checksum of the parts' checksums, with their number", () => {
    const parts = [randomBytes(10), randomBytes(20)];
    const digests = parts.map((part) => digestOf("SHA256", part));
    const joined = joinChecksums(
      { algorithm: "SHA256", type: "COMPOSITE" },
      digests.map((digest) => ({ value: digest.toString("base64"), sizeBytes: 10 })),
    );
    expect(joined.value).toBe(`${digestOf("SHA256", Buffer.concat(digests)).toString("base64")}-2`);
  });

  it("that is wrong is BadDigest, one of the wrong length InvalidRequest", () => {
    expect(() => requireChecksum("CRC32", "AAAAAA==", "AAAAAQ==")).toThrow(
      expect.objectContaining({ code: "BadDigest" }),
    );
    expect(() => requireChecksum("CRC32", "AAAA", "AAAAAQ==")).toThrow(
      expect.objectContaining({ code: "InvalidRequest" }),
    );
  });

  it("is declared once, in a header or a trailer", () => {
    const declared = (headers: Record<string, string>) => declaredChecksum(new Map(Object.entries(headers)));
    expect(declared({})).toBeUndefined();
    expect(declared({ "x-amz-checksum-crc32c": "v" })).toEqual({ algorithm: "CRC32C", value: "v", place: "header" });
    expect(declared({ "x-amz-trailer": "x-amz-checksum-sha1" })).toMatchObject({ algorithm: "SHA1", place: "trailer" });
    expect(() => declared({ "x-amz-checksum-crc32": "a", "x-amz-checksum-sha1": "b" })).toThrow(
      expect.objectContaining({ code: "InvalidRequest" }),
    );
    expect(() => declared({ "x-amz-trailer": "x-amz-checksum-md4" })).toThrow(
      expect.objectContaining({ code: "InvalidRequest" }),
    );
  });
});
