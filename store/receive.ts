/**
 * Receives request bodies and verifies them before they are kept: length, payload hash, MD5, checksum, chunk signatures.
 * On a mismatch nothing stays on disk and the matching S3 error is thrown. Only chunks are in memory.
 */
import { createHash } from "node:crypto";
import type { Call, Store } from "./call.ts";
import {
  checksumHeader,
  declaredChecksum,
  requireChecksum,
  startChecksum,
  type ChecksumAlgorithm,
  type DeclaredChecksum,
} from "./checksum.ts";
import { decodeChunked } from "./chunked.ts";
import { S3Error } from "./s3-error.ts";

/** A written and verified body. The blob must be kept or discarded. */
export type ReceivedBlob = {
  readonly blob: string;
  readonly sizeBytes: number;
  readonly md5Hex: string;
  readonly checksum: { readonly algorithm: ChecksumAlgorithm; readonly value: string } | undefined;
};

const MAX_SINGLE_PUT_BYTES = 5 * 1024 ** 3;

/** Returns the payload's length from the headers. Throws MissingContentLength or EntityTooLarge. */
function expectedBytes(call: Call): number {
  const text = call.headers.get("x-amz-decoded-content-length") ?? call.headers.get("content-length");
  if (text === undefined || !/^\d+$/.test(text)) {
    throw new S3Error("MissingContentLength", "You must provide the Content-Length HTTP header.");
  }
  const sizeBytes = Number(text);
  if (sizeBytes > MAX_SINGLE_PUT_BYTES) {
    throw new S3Error("EntityTooLarge", "Your proposed upload exceeds the maximum allowed size", {
      fields: { ProposedSize: text, MaxSizeAllowed: String(MAX_SINGLE_PUT_BYTES) },
    });
  }
  return sizeBytes;
}

function declaredMd5(call: Call): string | undefined {
  const text = call.headers.get("content-md5");
  if (text === undefined) return undefined;
  const bytes = Buffer.from(text, "base64");
  if (bytes.length !== 16) throw new S3Error("InvalidDigest", "The Content-MD5 you specified was invalid.");
  return bytes.toString("hex");
}

/** Returns the payload of a call without aws-chunked framing; trailers go to the map. */
function payload(call: Call, trailers: Map<string, string>): AsyncIterable<Buffer> {
  const rule = call.identity.payload;
  const framed = (call.headers.get("content-encoding") ?? "").split(",").some((name) => name.trim() === "aws-chunked");
  if (rule.kind !== "chunked" && !framed) return call.body();
  const onTrailers = (found: ReadonlyMap<string, string>): void => {
    for (const [name, value] of found) trailers.set(name, value);
  };
  if (rule.kind === "chunked" && rule.signed === "signed") {
    const { signing, seedSignature } = call.identity;
    return decodeChunked(call.body(), { signed: { signing, seedSignature }, onTrailers });
  }
  return decodeChunked(call.body(), { onTrailers });
}

function proveChecksum(declared: DeclaredChecksum, computed: string, trailers: ReadonlyMap<string, string>): void {
  const value = declared.place === "trailer" ? trailers.get(checksumHeader(declared.algorithm)) : declared.value;
  if (declared.place === "none") return;
  if (value === undefined) throw new S3Error("InvalidRequest", "The x-amz-trailer checksum is missing from the body.");
  requireChecksum(declared.algorithm, value, computed);
}

/** Refuses aws-chunked bodies where a quirk says so. Throws NotImplemented. */
function checkFraming(store: Store, call: Call): void {
  if (store.quirks.rejectChunked === "on" && call.identity.payload.kind === "chunked") {
    throw new S3Error("NotImplemented", "STREAMING payloads are not supported by this endpoint.");
  }
}

/** Streams a request body into a new blob and verifies it. `fallback` is the checksum algorithm when none is declared. */
export async function receiveBlob(store: Store, call: Call, fallback?: ChecksumAlgorithm): Promise<ReceivedBlob> {
  checkFraming(store, call);
  const wantedBytes = expectedBytes(call);
  const wantedMd5 = declaredMd5(call);
  const declared = declaredChecksum(call.headers);
  const algorithm = declared?.algorithm ?? fallback;
  const rule = call.identity.payload;
  const md5 = createHash("md5");
  const sha256 = rule.kind === "hashed" ? createHash("sha256") : undefined;
  const running = algorithm === undefined ? undefined : startChecksum(algorithm);
  const trailers = new Map<string, string>();
  let sizeBytes = 0;
  async function* measured(): AsyncGenerator<Buffer> {
    for await (const chunk of payload(call, trailers)) {
      sizeBytes += chunk.length;
      if (sizeBytes > wantedBytes) throw new S3Error("IncompleteBody", "The body is longer than its declared length.");
      md5.update(chunk);
      sha256?.update(chunk);
      running?.update(chunk);
      yield chunk;
    }
  }
  const blob = await store.blobs.write(measured());
  try {
    if (sizeBytes !== wantedBytes) {
      throw new S3Error(
        "IncompleteBody",
        "You did not provide the number of bytes specified by the Content-Length HTTP header",
      );
    }
    if (rule.kind === "hashed" && sha256?.digest("hex") !== rule.sha256Hex) {
      throw new S3Error(
        "XAmzContentSHA256Mismatch",
        "The provided 'x-amz-content-sha256' header does not match what was computed.",
      );
    }
    const md5Hex = md5.digest("hex");
    if (wantedMd5 !== undefined && wantedMd5 !== md5Hex) {
      throw new S3Error("BadDigest", "The Content-MD5 you specified did not match what we received.");
    }
    const value = running?.digest().toString("base64");
    if (declared !== undefined && value !== undefined) proveChecksum(declared, value, trailers);
    const checksum = algorithm === undefined || value === undefined ? undefined : { algorithm, value };
    return { blob, sizeBytes, md5Hex, checksum };
  } catch (error) {
    await store.blobs.discard(blob);
    throw error;
  }
}

/** Reads and verifies a small XML body. Throws MalformedXML when it exceeds `maxBytes`. */
export async function receiveDocument(call: Call, maxBytes: number): Promise<string> {
  const wantedMd5 = declaredMd5(call);
  const declared = declaredChecksum(call.headers);
  const trailers = new Map<string, string>();
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  for await (const chunk of payload(call, trailers)) {
    sizeBytes += chunk.length;
    if (sizeBytes > maxBytes) throw new S3Error("MalformedXML", "The XML you provided is larger than allowed.");
    chunks.push(chunk);
  }
  const body = Buffer.concat(chunks);
  const rule = call.identity.payload;
  if (rule.kind === "hashed" && createHash("sha256").update(body).digest("hex") !== rule.sha256Hex) {
    throw new S3Error(
      "XAmzContentSHA256Mismatch",
      "The provided 'x-amz-content-sha256' header does not match what was computed.",
    );
  }
  if (wantedMd5 !== undefined && createHash("md5").update(body).digest("hex") !== wantedMd5) {
    throw new S3Error("BadDigest", "The Content-MD5 you specified did not match what we received.");
  }
  if (declared !== undefined) {
    const running = startChecksum(declared.algorithm);
    running.update(body);
    proveChecksum(declared, running.digest().toString("base64"), trailers);
  }
  return body.toString("utf8");
}
