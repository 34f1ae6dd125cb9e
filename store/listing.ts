/** ListObjects, ListObjectsV2 and ListMultipartUploads: one page each, continued by opaque tokens or markers. */
import { integerQuery, requireBucket, type Call, type Store } from "./call.ts";
import { listObjects, type ObjectSummary } from "./catalog-objects.ts";
import { listUploads, type Upload } from "./catalog-uploads.ts";
import { xmlReply, type Reply } from "./reply.ts";
import { S3Error } from "./s3-error.ts";
import { afterPrefix, type Seek, type WalkEntry } from "./walk-keys.ts";
import { branch, leaf } from "./xml.ts";

const MAX_KEYS = 1000;

export type Encode = (text: string) => string;

/** Returns the encoder for names: none, or percent-encoding that keeps slashes. Throws InvalidArgument. */
export function encoder(call: Call): { readonly name: string | undefined; readonly encode: Encode } {
  const name = call.request.query.get("encoding-type");
  if (name === undefined) return { name, encode: (text) => text };
  if (name !== "url") throw new S3Error("InvalidArgument", "Invalid Encoding Method specified in Request");
  return { name, encode: (text) => encodeURIComponent(text).replaceAll("%2F", "/") };
}

/** Returns the name after which a listing continues: that of its last entry. */
export function nameOf<Row>(entry: WalkEntry<Row> | undefined, keyOf: (row: Row) => string): string {
  if (entry === undefined) return "";
  return entry.kind === "prefix" ? entry.prefix : keyOf(entry.row);
}

/** Returns where to continue after an entry: behind the whole common prefix, or behind the key. */
function seekAfter(kind: "prefix" | "row", name: string): Seek {
  const next = kind === "prefix" ? afterPrefix(name) : undefined;
  return next === undefined ? { key: name, mode: "after" } : { key: next, mode: "at" };
}

function encodeToken(entry: WalkEntry<ObjectSummary> | undefined): string {
  const name = nameOf(entry, (row) => row.key);
  return Buffer.from(`${entry?.kind === "prefix" ? "p" : "k"}${name}`).toString("base64url");
}

function decodeToken(token: string): Seek {
  const text = Buffer.from(token, "base64url").toString("utf8");
  const kind = text.startsWith("p") ? "prefix" : "row";
  if (!/^[pk]/.test(text) || Buffer.from(text).toString("base64url") !== token) {
    throw new S3Error("InvalidArgument", "The continuation token provided is incorrect", {
      fields: { ArgumentName: "continuation-token" },
    });
  }
  return seekAfter(kind, text.slice(1));
}

/** Returns where to continue after a V1 marker. A marker that is a common prefix is skipped as a whole. */
export function markerSeek(marker: string, prefix: string, delimiter: string): Seek | undefined {
  if (marker === "") return undefined;
  const found = delimiter === "" || !marker.startsWith(prefix) ? -1 : marker.indexOf(delimiter, prefix.length);
  return seekAfter(found >= 0 && found + delimiter.length === marker.length ? "prefix" : "row", marker);
}

function contents(object: ObjectSummary, encode: Encode): string {
  return branch("Contents", [
    leaf("Key", encode(object.key)),
    leaf("LastModified", new Date(object.modifiedMs).toISOString()),
    leaf("ETag", `"${object.etag}"`),
    leaf("ChecksumAlgorithm", object.checksum?.algorithm),
    leaf("ChecksumType", object.checksum?.type),
    leaf("Size", object.sizeBytes),
    leaf("StorageClass", "STANDARD"),
  ]);
}

type Page = {
  readonly entries: readonly WalkEntry<ObjectSummary>[];
  readonly truncated: "more" | "end";
  readonly shared: readonly string[];
  readonly body: readonly string[];
  readonly encode: Encode;
};

function readPage(store: Store, call: Call, startOf: (prefix: string, delimiter: string) => Seek | undefined): Page {
  requireBucket(store, call.bucket);
  const { query } = call.request;
  const prefix = query.get("prefix") ?? "";
  const delimiter = query.get("delimiter") ?? "";
  const limit = integerQuery(call, "max-keys", { fallback: MAX_KEYS, max: MAX_KEYS });
  const { name, encode } = encoder(call);
  const start = startOf(prefix, delimiter);
  const { entries, truncated } = listObjects(store.database, { bucket: call.bucket, prefix, delimiter, start, limit });
  const shown = store.quirks.unorderedListing === "on" && prefix.endsWith("/") ? entries.toReversed() : entries;
  const shared = [
    leaf("Name", call.bucket),
    leaf("Prefix", encode(prefix)),
    leaf("MaxKeys", limit),
    leaf("Delimiter", delimiter === "" ? undefined : encode(delimiter)),
    leaf("EncodingType", name),
    leaf("IsTruncated", truncated === "more"),
  ];
  const body = [
    ...shown.flatMap((entry) => (entry.kind === "row" ? [contents(entry.row, encode)] : [])),
    ...shown.flatMap((entry) =>
      entry.kind === "prefix" ? [branch("CommonPrefixes", [leaf("Prefix", encode(entry.prefix))])] : [],
    ),
  ];
  return { entries, truncated, shared, body, encode };
}

/** Answers ListObjectsV2. */
export function listObjectsV2(store: Store, call: Call): Reply {
  const { query } = call.request;
  const token = query.get("continuation-token");
  const startAfter = query.get("start-after") ?? "";
  if (token === "") throw new S3Error("InvalidArgument", "The continuation token provided is incorrect");
  const page = readPage(store, call, () => {
    if (token !== undefined) return decodeToken(token);
    return startAfter === "" ? undefined : { key: startAfter, mode: "after" };
  });
  return xmlReply("ListBucketResult", [
    ...page.shared,
    leaf("KeyCount", page.entries.length),
    leaf("ContinuationToken", token),
    leaf("NextContinuationToken", page.truncated === "more" ? encodeToken(page.entries.at(-1)) : undefined),
    leaf("StartAfter", startAfter === "" ? undefined : page.encode(startAfter)),
    ...page.body,
  ]);
}

/** Answers ListObjects, the older listing. */
export function listObjectsV1(store: Store, call: Call): Reply {
  const marker = call.request.query.get("marker") ?? "";
  const page = readPage(store, call, (prefix, delimiter) => markerSeek(marker, prefix, delimiter));
  const next = page.truncated === "more" ? page.encode(nameOf(page.entries.at(-1), (row) => row.key)) : undefined;
  return xmlReply("ListBucketResult", [
    ...page.shared,
    leaf("Marker", page.encode(marker)),
    leaf("NextMarker", next),
    ...page.body,
  ]);
}

/** Answers ListMultipartUploads. */
export function listMultipartUploads(store: Store, call: Call): Reply {
  requireBucket(store, call.bucket);
  const { query } = call.request;
  const prefix = query.get("prefix") ?? "";
  const delimiter = query.get("delimiter") ?? "";
  if (store.quirks.slashPrefixes === "on" && prefix !== "" && !prefix.endsWith("/")) {
    throw new S3Error("NotImplemented", "Open uploads are listed only under prefixes that end with a slash.");
  }
  const keyMarker = query.get("key-marker") ?? "";
  const idMarker = query.get("upload-id-marker") ?? "";
  const limit = integerQuery(call, "max-uploads", { fallback: MAX_KEYS, max: MAX_KEYS });
  const { name, encode } = encoder(call);
  const plain = markerSeek(keyMarker, prefix, delimiter);
  const start: Seek | undefined =
    plain === undefined || idMarker === "" ? plain : { key: keyMarker, mode: "after", uploadId: idMarker };
  const page = listUploads(store.database, { bucket: call.bucket, prefix, delimiter, start, limit });
  const last = page.entries.at(-1);
  const truncated = page.truncated === "more";
  return xmlReply("ListMultipartUploadsResult", [
    leaf("Bucket", call.bucket),
    leaf("KeyMarker", encode(keyMarker)),
    leaf("UploadIdMarker", idMarker),
    leaf("NextKeyMarker", truncated ? encode(nameOf(last, (row) => row.key)) : undefined),
    leaf("NextUploadIdMarker", truncated && last?.kind === "row" ? last.row.id : undefined),
    leaf("Prefix", encode(prefix)),
    leaf("Delimiter", delimiter === "" ? undefined : encode(delimiter)),
    leaf("EncodingType", name),
    leaf("MaxUploads", limit),
    leaf("IsTruncated", truncated),
    ...page.entries.map((entry) =>
      entry.kind === "row"
        ? uploadElement(entry.row, encode)
        : branch("CommonPrefixes", [leaf("Prefix", encode(entry.prefix))]),
    ),
  ]);
}

function uploadElement(upload: Upload, encode: Encode): string {
  return branch("Upload", [
    leaf("Key", encode(upload.key)),
    leaf("UploadId", upload.id),
    leaf("StorageClass", "STANDARD"),
    leaf("Initiated", new Date(upload.startedMs).toISOString()),
    leaf("ChecksumAlgorithm", upload.algorithm),
    leaf("ChecksumType", upload.type),
  ]);
}
