import { hash } from "node:crypto";

/**
 * A document like a list of deletions or of rules must come with a sum, and which one is where stores differ: the SDK sends a
 * CRC32 (B2 refuses the header, old gateways ask for the MD5 all the same), the MD5 every S3 has always taken.
 */

/** Behind the SDK's own sum, and before anything is signed. */
export const SUM_BY_MD5 = { step: "build", priority: "low", name: "tidemarkSumByMd5" } as const;

/** For the middleware stack of one command of the SDK, with the options `SUM_BY_MD5`. */
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
