import { describe, expect, it } from "vitest";
import { decodeChunked, type ChunkedOptions } from "./chunked.ts";
import { chunkSignature, EMPTY_SHA256, sha256Hex, signingKey, trailerSignature } from "./sigv4.ts";

const scope = { date: "20130524", region: "us-east-1", service: "s3" };
const signing = { key: signingKey("secret", scope), amzDate: "20130524T000000Z", scope };
const seedSignature = "0".repeat(64);
const payload = Buffer.from(Array.from({ length: 9000 }, (_, index) => index % 251));
const pieces = [payload.subarray(0, 8192), payload.subarray(8192)];

function signedBody(trailer: string): Buffer {
  let previous = seedSignature;
  const lines: Buffer[] = [];
  for (const piece of [...pieces, Buffer.alloc(0)]) {
    previous = chunkSignature(signing, previous, sha256Hex(piece));
    const end = piece.length > 0 ? "\r\n" : "";
    lines.push(Buffer.from(`${piece.length.toString(16)};chunk-signature=${previous}\r\n`), piece, Buffer.from(end));
  }
  if (trailer !== "") {
    const signature = trailerSignature(signing, previous, sha256Hex(`${trailer}\n`));
    lines.push(Buffer.from(`${trailer}\r\nx-amz-trailer-signature:${signature}\r\n`));
  }
  lines.push(Buffer.from("\r\n"));
  return Buffer.concat(lines);
}

function unsignedBody(parts: readonly Buffer[]): Buffer {
  const frames = parts.map((piece) =>
    Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from("\r\n")]),
  );
  return Buffer.concat([...frames, Buffer.from("0\r\nX-Amz-Checksum-Crc32: AAAA\r\n\r\n")]);
}

async function decode(body: Buffer, stepBytes: number, options: Partial<ChunkedOptions> = {}) {
  let trailers: ReadonlyMap<string, string> | undefined;
  async function* source(): AsyncGenerator<Buffer> {
    for (let at = 0; at < body.length; at += stepBytes) yield body.subarray(at, at + stepBytes);
  }
  const collected: Buffer[] = [];
  const onTrailers = (found: ReadonlyMap<string, string>): void => {
    trailers = found;
  };
  for await (const chunk of decodeChunked(source(), { onTrailers, ...options })) collected.push(chunk);
  return { bytes: Buffer.concat(collected), trailers: Object.fromEntries(trailers ?? []) };
}

describe("an aws-chunked body", () => {
  it.each([1, 7, 4096, 1_000_000])("is unwrapped when it arrives %i bytes at a time", async (stepBytes) => {
    const unsigned = await decode(unsignedBody(pieces), stepBytes);
    expect(unsigned.bytes.equals(payload)).toBe(true);
    expect(unsigned.trailers).toEqual({ "x-amz-checksum-crc32": "AAAA" });
    const signed = await decode(signedBody("x-amz-checksum-crc32:AAAA"), stepBytes, {
      signed: { signing, seedSignature },
    });
    expect(signed.bytes.equals(payload)).toBe(true);
    expect(signed.trailers).toEqual({ "x-amz-checksum-crc32": "AAAA" });
  });

  it("is refused when one signed byte is changed, in the data or in the trailer", async () => {
    const options = { signed: { signing, seedSignature } };
    const body = signedBody("x-amz-checksum-crc32:AAAA");
    for (const at of [200, 8500, body.indexOf("AAAA")]) {
      const changed = Buffer.from(body);
      changed[at] = (body[at] ?? 0) ^ 1;
      await expect(decode(changed, 1000, options)).rejects.toMatchObject({ code: "SignatureDoesNotMatch" });
    }
  });

  it("is refused when chunk signatures are missing", async () => {
    const options = { signed: { signing, seedSignature: EMPTY_SHA256 } };
    await expect(decode(unsignedBody(pieces), 1000, options)).rejects.toMatchObject({ code: "SignatureDoesNotMatch" });
  });

  it.each([10, 5000, 8200, 9000])("is IncompleteBody when it ends after %i bytes", async (endsAt) => {
    const cut = unsignedBody(pieces).subarray(0, endsAt);
    await expect(decode(cut, 999)).rejects.toMatchObject({ code: "IncompleteBody" });
  });

  it("is refused when a chunk that is not the last is below 8 KiB", async () => {
    const body = unsignedBody([Buffer.alloc(100), Buffer.alloc(9000)]);
    await expect(decode(body, 999)).rejects.toMatchObject({ code: "InvalidChunkSizeError" });
  });

  it("is refused when its framing is nonsense", async () => {
    await expect(decode(Buffer.from("hello world\r\n"), 99)).rejects.toMatchObject({ code: "InvalidRequest" });
    await expect(decode(Buffer.alloc(10_000, "a"), 99)).rejects.toMatchObject({ code: "InvalidRequest" });
    await expect(decode(Buffer.from("3\r\nabcd\r\n0\r\n\r\n"), 99)).rejects.toMatchObject({ code: "InvalidRequest" });
  });
});
