import { createHash, randomBytes } from "node:crypto";
import type { S3Client } from "@aws-sdk/client-s3";
import type { S3Server } from "../servers/run-binary.ts";

/** The servers of the table. */
export type ServerName = "embedded" | "versitygw" | "minio";

/** What a case gets: one server, the stock client for it, and a key prefix that no other case uses. */
export type CaseContext = {
  readonly server: S3Server;
  readonly client: S3Client;
  readonly bucket: string;
  readonly prefix: string;
};

/**
 * One sentence about S3 that must hold on every server. Where a real server is known to differ, `differs` says how; the
 * case must then fail there, so that the exception goes when the server changes.
 */
export type Case = {
  readonly name: string;
  readonly run: (context: CaseContext) => Promise<void>;
  readonly differs?: Readonly<Partial<Record<ServerName, string>>>;
};

/** Ways in which a real server differs that concern several cases. */
export const WHOLE_KEY_ONLY = "finds open uploads only when the prefix is the whole key";
export const OWN_MARKER_REFUSED = "refuses the upload-id marker that it gave with the page before";

export const MIB = 1024 * 1024;
/** The smallest size of a part that is not the last. */
export const PART_BYTES = 5 * MIB;

/** The code and status of the error that a call ends with; a call that succeeds is an error here. */
export async function refusalOf(call: Promise<unknown>): Promise<{ readonly code: string; readonly status: number }> {
  try {
    await call;
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const metadata = "$metadata" in error ? error.$metadata : undefined;
    const known = typeof metadata === "object" && metadata !== null && "httpStatusCode" in metadata;
    return { code: error.name, status: known ? Number(metadata.httpStatusCode) : 0 };
  }
  throw new Error("the call succeeded where it must be refused");
}

/** Random bytes and their digests. */
export function sample(sizeBytes: number): {
  readonly bytes: Buffer;
  readonly md5Hex: string;
  readonly sha256Hex: string;
} {
  const bytes = randomBytes(sizeBytes);
  const digest = (name: string): string => createHash(name).update(bytes).digest("hex");
  return { bytes, md5Hex: digest("md5"), sha256Hex: digest("sha256") };
}

/** The bytes of a body that the SDK gave. */
export async function bytesOf(body: { transformToByteArray(): Promise<Uint8Array> } | undefined): Promise<Buffer> {
  if (body === undefined) throw new Error("the answer has no body");
  return Buffer.from(await body.transformToByteArray());
}

/** The code in an S3 error document. */
export function codeIn(xml: string): string {
  return /<Code>([^<]*)<\/Code>/.exec(xml)?.[1] ?? "";
}
