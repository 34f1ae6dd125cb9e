/** Answers as data, so that scripted faults can change them before they are sent. */
import type { S3Error } from "./s3-error.ts";
import { leaf, xmlDocument } from "./xml.ts";

/** Body of an answer. A stream has a known length; `close` frees its resources, even if it was never read. */
export type ReplyBody =
  | { readonly kind: "none" }
  | { readonly kind: "text"; readonly text: string }
  | {
      readonly kind: "stream";
      readonly sizeBytes: number;
      readonly bytes: () => AsyncGenerator<Buffer>;
      readonly close: () => void;
    };

/** Status, headers (lower-case names) and body. */
export type Reply = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: ReplyBody;
  /** Imitates an answer of a proxy or portal, so the store's own headers are not added. */
  readonly isForeign?: true;
};

/** Returns an answer without a body. */
export function emptyReply(status: number, headers: Readonly<Record<string, string>> = {}): Reply {
  return { status, headers, body: { kind: "none" } };
}

/** Returns a 200 with an S3 document. */
export function xmlReply(
  root: string,
  children: readonly string[],
  headers: Readonly<Record<string, string>> = {},
): Reply {
  return {
    status: 200,
    headers: { "content-type": "application/xml", ...headers },
    body: { kind: "text", text: xmlDocument(root, children) },
  };
}

/** Returns the XML of an error. */
export function errorDocument(
  error: Pick<S3Error, "code" | "message"> | { readonly code: string; readonly message: string },
  fields: Readonly<Record<string, string>>,
): string {
  const extra = Object.entries(fields).map(([name, value]) => leaf(name, value));
  return xmlDocument("Error", [leaf("Code", error.code), leaf("Message", error.message), ...extra]);
}

/** Returns the answer to a refused request. */
export function errorReply(error: S3Error, fields: Readonly<Record<string, string>>): Reply {
  if (error.status === 304) return emptyReply(304, error.headers);
  return {
    status: error.status,
    headers: { "content-type": "application/xml", ...error.headers },
    body: { kind: "text", text: errorDocument(error, { ...error.fields, ...fields }) },
  };
}
