/** Headers of objects: stored from the request that writes an object, returned by reads. */
import { S3Error } from "./s3-error.ts";
import type { StoredObject } from "./catalog-objects.ts";
import { httpDate } from "./call.ts";
import { checksumHeader } from "./checksum.ts";

const KEPT = ["content-type", "cache-control", "content-disposition", "content-language", "expires"];

/** Query parameters of GET that replace a stored header. */
const OVERRIDES: Readonly<Record<string, string>> = {
  "response-content-type": "content-type",
  "response-cache-control": "cache-control",
  "response-content-disposition": "content-disposition",
  "response-content-encoding": "content-encoding",
  "response-content-language": "content-language",
  "response-expires": "expires",
};

/** Returns the headers to store. Throws MetadataTooLarge when user metadata exceeds `maxMetadataBytes`. */
export function objectHeaders(
  headers: ReadonlyMap<string, string>,
  maxMetadataBytes: number,
): Readonly<Record<string, string>> {
  const kept: Record<string, string> = { "content-type": "application/octet-stream" };
  let metadataBytes = 0;
  for (const [name, value] of headers) {
    if (KEPT.includes(name) && value !== "") kept[name] = value;
    if (!name.startsWith("x-amz-meta-")) continue;
    metadataBytes += name.length - "x-amz-meta-".length + value.length;
    kept[name] = value;
  }
  const encoding = (headers.get("content-encoding") ?? "")
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "" && part !== "aws-chunked")
    .join(",");
  if (encoding !== "") kept["content-encoding"] = encoding;
  if (metadataBytes > maxMetadataBytes) {
    throw new S3Error("MetadataTooLarge", "Your metadata headers exceed the maximum allowed metadata size", {
      fields: { Size: String(metadataBytes), MaxSizeAllowed: String(maxMetadataBytes) },
    });
  }
  return kept;
}

/** Returns the headers of an answer about an object, with its checksum only if requested. */
export function answerHeaders(
  object: StoredObject,
  asked: { readonly query: ReadonlyMap<string, string>; readonly checksum: "shown" | "hidden" },
): Record<string, string> {
  const headers: Record<string, string> = {
    ...object.headers,
    "last-modified": httpDate(object.modifiedMs),
    etag: `"${object.etag}"`,
    "accept-ranges": "bytes",
  };
  for (const [parameter, name] of Object.entries(OVERRIDES)) {
    const value = asked.query.get(parameter);
    if (value !== undefined) headers[name] = value;
  }
  if (asked.checksum === "shown" && object.checksum !== undefined) {
    headers[checksumHeader(object.checksum.algorithm)] = object.checksum.value;
    headers["x-amz-checksum-type"] = object.checksum.type;
  }
  return headers;
}
