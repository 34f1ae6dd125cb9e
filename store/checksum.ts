/**
 * Verifies the checksums that clients declare, as S3 does. A declared checksum is verified or refused, and a verified one
 * is stored with the object. Source: the S3 user guide, "Checking object integrity".
 */
import { createHash } from "node:crypto";
import { crc32 } from "node:zlib";
import { joinCrcs, startCrc32c, startCrc64Nvme } from "./crc.ts";
import { S3Error } from "./s3-error.ts";

/** The algorithms of S3's additional checksums, in S3's spelling. */
export const CHECKSUM_ALGORITHMS = ["CRC32", "CRC32C", "CRC64NVME", "SHA1", "SHA256"] as const;
export type ChecksumAlgorithm = (typeof CHECKSUM_ALGORITHMS)[number];

/** Whether an object's checksum covers its bytes or the checksums of its parts. */
export type ChecksumType = "FULL_OBJECT" | "COMPOSITE";

/** A verified checksum: base64, followed by `-N` when it is composite over N parts. */
export type Checksum = {
  readonly algorithm: ChecksumAlgorithm;
  readonly type: ChecksumType;
  readonly value: string;
};

/** An incremental digest. */
export type RunningDigest = { update(chunk: Uint8Array): unknown; digest(): Buffer };

function startCrc32(): RunningDigest {
  let value = 0;
  return {
    update: (chunk) => {
      value = crc32(chunk, value);
    },
    digest: () => {
      const digest = Buffer.alloc(4);
      digest.writeUInt32BE(value >>> 0);
      return digest;
    },
  };
}

/** Starts a digest of this algorithm. */
export function startChecksum(algorithm: ChecksumAlgorithm): RunningDigest {
  switch (algorithm) {
    case "CRC32":
      return startCrc32();
    case "CRC32C":
      return startCrc32c();
    case "CRC64NVME":
      return startCrc64Nvme();
    case "SHA1":
      return createHash("sha1");
    case "SHA256":
      return createHash("sha256");
  }
}

/** Returns the header's name, such as `x-amz-checksum-crc32`. */
export function checksumHeader(algorithm: ChecksumAlgorithm): string {
  return `x-amz-checksum-${algorithm.toLowerCase()}`;
}

/** Returns the XML element's name, such as `ChecksumCRC32`. */
export function checksumElement(algorithm: ChecksumAlgorithm): string {
  return `Checksum${algorithm}`;
}

/** Parses an algorithm's name in any letter case; undefined for undefined. Throws InvalidRequest for an unknown one. */
export function readAlgorithm(name: string | undefined): ChecksumAlgorithm | undefined {
  if (name === undefined) return undefined;
  const known = CHECKSUM_ALGORITHMS.find((algorithm) => algorithm === name.toUpperCase());
  if (known === undefined) {
    throw new S3Error(
      "InvalidRequest",
      "Checksum algorithm provided is unsupported. Please try again with any of the valid types: [CRC32, CRC32C, CRC64NVME, SHA1, SHA256]",
    );
  }
  return known;
}

/** Checksum that a request declares for its body: a value in a header, a trailer, or an algorithm only. */
export type DeclaredChecksum = {
  readonly algorithm: ChecksumAlgorithm;
  readonly value: string | undefined;
  readonly place: "header" | "trailer" | "none";
};

/** Reads the declared checksum of a body. Throws InvalidRequest when several are declared. */
export function declaredChecksum(headers: ReadonlyMap<string, string>): DeclaredChecksum | undefined {
  const inHeaders = CHECKSUM_ALGORITHMS.filter((algorithm) => headers.has(checksumHeader(algorithm)));
  if (inHeaders.length > 1) {
    throw new S3Error(
      "InvalidRequest",
      "Expecting a single x-amz-checksum- header. Multiple checksum Types are not allowed.",
    );
  }
  const [algorithm] = inHeaders;
  if (algorithm !== undefined) {
    return { algorithm, value: headers.get(checksumHeader(algorithm)), place: "header" };
  }
  const trailer = headers.get("x-amz-trailer")?.trim().toLowerCase();
  const trailing = CHECKSUM_ALGORITHMS.find((candidate) => checksumHeader(candidate) === trailer);
  if (trailer !== undefined && trailing === undefined) {
    throw new S3Error("InvalidRequest", "The value specified in the x-amz-trailer header is not supported");
  }
  if (trailing !== undefined) return { algorithm: trailing, value: undefined, place: "trailer" };
  const asked = readAlgorithm(headers.get("x-amz-sdk-checksum-algorithm"));
  return asked === undefined ? undefined : { algorithm: asked, value: undefined, place: "none" };
}

/** Verifies a declared checksum. Throws BadDigest, or InvalidRequest for a value of the wrong length. */
export function requireChecksum(algorithm: ChecksumAlgorithm, declared: string, computed: string): void {
  if (declared === computed) return;
  if (Buffer.from(declared, "base64").length !== Buffer.from(computed, "base64").length) {
    throw new S3Error("InvalidRequest", `Value for ${checksumHeader(algorithm)} header is invalid.`);
  }
  throw new S3Error("BadDigest", `The ${algorithm} you specified did not match the calculated checksum.`);
}

/** A part's verified checksum and length. */
export type PartChecksum = { readonly value: string; readonly sizeBytes: number };

/** Returns the checksum of a completed multipart object from those of its parts, in part order. */
export function joinChecksums(plan: Omit<Checksum, "value">, parts: readonly PartChecksum[]): Checksum {
  const pieces = parts.map((part) => ({ digest: Buffer.from(part.value, "base64"), sizeBytes: part.sizeBytes }));
  if (plan.type === "FULL_OBJECT") {
    if (plan.algorithm === "SHA1" || plan.algorithm === "SHA256") {
      throw new S3Error("InvalidRequest", `The FULL_OBJECT checksum type cannot be used with ${plan.algorithm}.`);
    }
    return { ...plan, value: joinCrcs(plan.algorithm, pieces).toString("base64") };
  }
  const digest = startChecksum(plan.algorithm);
  for (const piece of pieces) digest.update(piece.digest);
  return { ...plan, value: `${digest.digest().toString("base64")}-${parts.length}` };
}
