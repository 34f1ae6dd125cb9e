/**
 * Decodes `aws-chunked` bodies, which the AWS command line and boto3 send, signed or unsigned, with checksums as
 * trailers. Yields exactly the payload. A malformed frame, a wrong chunk signature or an early end throws an S3Error, at
 * the latest when the stream ends. A caller that commits only after the end therefore never keeps unverified bytes.
 * Source: the S3 API reference, "Signature calculations for the authorization header: transferring payload in chunks".
 */
import { createHash } from "node:crypto";
import { sameText } from "./credentials.ts";
import { S3Error } from "./s3-error.ts";
import { chunkSignature, sha256Hex, trailerSignature, type SigningContext } from "./sigv4.ts";

/** How to decode one aws-chunked body. Trailer names are in lower case. */
export type ChunkedOptions = {
  /** Present when chunks are signed: signing context and signature of the request, with which the chain begins. */
  readonly signed?: { readonly signing: SigningContext; readonly seedSignature: string };
  readonly onTrailers: (trailers: ReadonlyMap<string, string>) => void;
};

const MAX_LINE_BYTES = 4096;
const MIN_CHUNK_BYTES = 8192;
const MAX_TRAILERS = 16;

function incomplete(): S3Error {
  return new S3Error("IncompleteBody", "The request body terminated unexpectedly");
}

function badFrame(): S3Error {
  return new S3Error("InvalidRequest", "The aws-chunked framing of the request body is malformed.");
}

type ByteReader = {
  /** Reads a line without its line end; undefined at the end of the source. */
  line(): Promise<string | undefined>;
  /** Reads between 1 and maxBytes bytes. */
  some(maxBytes: number): Promise<Buffer>;
};

function readBytes(source: AsyncIterable<Buffer>): ByteReader {
  const iterator = source[Symbol.asyncIterator]();
  let held: Buffer = Buffer.alloc(0);
  const more = async (): Promise<boolean> => {
    const next = await iterator.next();
    if (next.done === true) return false;
    held = held.length === 0 ? next.value : Buffer.concat([held, next.value]);
    return true;
  };
  return {
    async line() {
      for (;;) {
        const end = held.indexOf(0x0a);
        if (end >= 0) {
          const text = held.toString("latin1", 0, end).replace(/\r$/, "");
          held = held.subarray(end + 1);
          return text;
        }
        if (held.length > MAX_LINE_BYTES) throw badFrame();
        if (!(await more())) {
          if (held.length > 0) throw incomplete();
          return undefined;
        }
      }
    },
    async some(maxBytes) {
      if (held.length === 0 && !(await more())) throw incomplete();
      const piece = held.subarray(0, maxBytes);
      held = held.subarray(piece.length);
      return piece;
    },
  };
}

function parseFrame(line: string): { sizeBytes: number; signature: string | undefined } {
  const match = /^([0-9a-fA-F]{1,12})(?:;chunk-signature=([0-9a-f]{64}))?$/.exec(line);
  if (match?.[1] === undefined) throw badFrame();
  return { sizeBytes: Number.parseInt(match[1], 16), signature: match[2] };
}

function requireSignature(expected: string, given: string | undefined): void {
  if (given === undefined || !sameText(expected, given)) {
    throw new S3Error(
      "SignatureDoesNotMatch",
      "The signature of a chunk of the request body does not match its bytes.",
    );
  }
}

async function readTrailers(reader: ByteReader): Promise<Map<string, string>> {
  const trailers = new Map<string, string>();
  for (;;) {
    const line = await reader.line();
    if (line === undefined) return trailers;
    if (line === "") continue;
    const colon = line.indexOf(":");
    if (colon <= 0 || trailers.size >= MAX_TRAILERS) throw badFrame();
    trailers.set(line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim());
  }
}

/** Yields the payload of an aws-chunked body; calls `onTrailers` once, after the last byte. */
export async function* decodeChunked(source: AsyncIterable<Buffer>, options: ChunkedOptions): AsyncGenerator<Buffer> {
  const reader = readBytes(source);
  let previous = options.signed?.seedSignature ?? "";
  let lastBytes = MIN_CHUNK_BYTES;
  for (;;) {
    const line = await reader.line();
    if (line === undefined) throw incomplete();
    const frame = parseFrame(line);
    if (frame.sizeBytes > 0 && lastBytes < MIN_CHUNK_BYTES) {
      throw new S3Error("InvalidChunkSizeError", "Only the last chunk is allowed to have a size less than 8192 bytes");
    }
    lastBytes = frame.sizeBytes;
    const hash = options.signed === undefined ? undefined : createHash("sha256");
    for (let leftBytes = frame.sizeBytes; leftBytes > 0;) {
      const piece = await reader.some(leftBytes);
      hash?.update(piece);
      leftBytes -= piece.length;
      yield piece;
    }
    if (options.signed !== undefined && hash !== undefined) {
      const expected = chunkSignature(options.signed.signing, previous, hash.digest("hex"));
      requireSignature(expected, frame.signature);
      previous = expected;
    }
    if (frame.sizeBytes === 0) break;
    if ((await reader.line()) !== "") throw badFrame();
  }
  const trailers = await readTrailers(reader);
  const given = trailers.get("x-amz-trailer-signature");
  trailers.delete("x-amz-trailer-signature");
  if (options.signed !== undefined && (trailers.size > 0 || given !== undefined)) {
    const text = [...trailers].map(([name, value]) => `${name}:${value}\n`).join("");
    requireSignature(trailerSignature(options.signed.signing, previous, sha256Hex(text)), given);
  }
  options.onTrailers(trailers);
}
