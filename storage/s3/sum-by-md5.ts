import { hash } from "node:crypto";

/**
 * Replaces the SDK's checksum with Content-MD5. S3 requires a checksum for documents such as a deletion list or CORS
 * rules. The SDK sends CRC32, which B2 refuses and old gateways do not count, while every S3 store accepts MD5.
 */

/** Runs after the SDK's checksum and before signing. */
export const SUM_BY_MD5 = { step: "build", priority: "low", name: "tidemarkSumByMd5" } as const;

/** Middleware for one SDK command, added with the options `SUM_BY_MD5`. */
export const sumByMd5 =
  <Args extends { request: unknown }, Answer>(next: (args: Args) => Promise<Answer>) =>
  (args: Args): Promise<Answer> => {
    if (isWireRequest(args.request)) setSum(args.request);
    return next(args);
  };

interface WireRequest {
  headers: Record<string, string>;
  body: unknown;
}
const isWireRequest = (value: unknown): value is WireRequest =>
  typeof value === "object" && value !== null && "headers" in value && "body" in value;

function setSum({ headers, body }: WireRequest): void {
  for (const name of Object.keys(headers)) if (/^x-amz-(sdk-)?checksum-/i.test(name)) delete headers[name];
  if (typeof body !== "string" && !(body instanceof Uint8Array)) return;
  headers["content-md5"] = Buffer.from(hash("md5", body), "hex").toString("base64");
}
