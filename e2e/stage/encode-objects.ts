import { brotliCompressSync, gzipSync, zstdCompressSync } from "node:zlib";
import type { PassedAnswer } from "./odd-objects.ts";

/** Frames bytes as a client does that sends them in signed chunks. */
const frame = (bytes: Buffer): Buffer => {
  const signature = "0".repeat(64);
  const head = `${bytes.length.toString(16)};chunk-signature=${signature}\r\n`;
  return Buffer.concat([Buffer.from(head), bytes, Buffer.from(`\r\n0;chunk-signature=${signature}\r\n\r\n`)]);
};

/** Values of Content-Encoding, and what an uploader makes of bytes before it stores them under that name. */
export const ENCODINGS: [string, (plain: Buffer) => Buffer][] = [
  ["gzip", gzipSync],
  ["aws-chunked", frame],
  ["aws-chunked,gzip", (plain) => frame(gzipSync(plain))],
  ["br", brotliCompressSync],
  ["zstd", zstdCompressSync],
];

/**
 * Changes answers about objects as if all had been stored with this Content-Encoding, which the embedded store does not keep
 * where it is `aws-chunked`. A request may override it, as at AWS.
 */
export const encodeObjects =
  (encoding: () => string) =>
  (answer: PassedAnswer): PassedAnswer => {
    const { pathname, searchParams } = new URL(answer.url, "http://store");
    const isObject = pathname.split("/").length > 2 && (answer.method === "GET" || answer.method === "HEAD");
    if (!isObject || answer.status >= 300) return answer;
    const said = searchParams.get("response-content-encoding") ?? encoding();
    return { ...answer, headers: { ...answer.headers, "content-encoding": said } };
  };
