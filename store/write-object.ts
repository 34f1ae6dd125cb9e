/** PutObject, CopyObject, DeleteObject and DeleteObjects. */
import { randomBytes } from "node:crypto";
import { requireBucket, sweep, type Call, type Store } from "./call.ts";
import { deleteObjects, findObject, putObject, segmentsOf, type StoredObject } from "./catalog-objects.ts";
import { findVersion, removeVersion } from "./catalog-versions.ts";
import { checksumElement, checksumHeader, readAlgorithm } from "./checksum.ts";
import { checkReadConditions, checkWriteConditions } from "./conditions.ts";
import { objectHeaders } from "./object-headers.ts";
import { receiveBlob, receiveDocument, type ReceivedBlob } from "./receive.ts";
import { requireObject, requireVersioned, slicesOf, versionHeader } from "./read-object.ts";
import { emptyReply, xmlReply, type Reply } from "./reply.ts";
import type { ByteRange } from "./ranges.ts";
import { S3Error } from "./s3-error.ts";
import { isVersioned } from "./shelve-version.ts";
import { branch, childrenNamed, childText, leaf, parseXml } from "./xml.ts";

const MAX_DELETE_DOCUMENT_BYTES = 4 * 1024 * 1024;
const MAX_DELETES = 1000;

/** Checks a write's conditions against the current object, unless a quirk ignores them, and the quirk's write gap. */
export function checkWrite(store: Store, call: Call): void {
  const current = findObject(store.database, call.bucket, call.key);
  // A clock that was set back makes an age negative.
  if (current !== undefined && Math.abs(store.now() - current.modifiedMs) < store.quirks.writeGapMs) {
    throw new S3Error("TooManyRequests", "Reduce your concurrent request rate for the same object.");
  }
  if (store.quirks.ignoreConditions === "on") return;
  checkWriteConditions(call.headers, current);
}

/** Returns the ETag of these bytes. */
export function etagFor(store: Store, md5Hex: string): string {
  return store.quirks.opaqueEtags === "on" ? `opaque-${randomBytes(12).toString("hex")}` : md5Hex;
}

/** Stores a received blob as an object, under the call's conditions. */
async function keepAsObject(
  store: Store,
  call: Call,
  given: { readonly received: ReceivedBlob; readonly headers: Readonly<Record<string, string>> },
): Promise<StoredObject> {
  const { received, headers } = given;
  const object: StoredObject = {
    bucket: call.bucket,
    key: call.key,
    id: randomBytes(16).toString("hex"),
    sizeBytes: received.sizeBytes,
    etag: etagFor(store, received.md5Hex),
    modifiedMs: store.now(),
    headers,
    checksum: received.checksum === undefined ? undefined : { ...received.checksum, type: "FULL_OBJECT" },
  };
  try {
    requireBucket(store, call.bucket);
    checkWrite(store, call);
    const { blob, sizeBytes } = received;
    const checksum = received.checksum?.value;
    const freed = putObject(store.database, object, [{ part: 1, blob, sizeBytes, checksum }]);
    store.blobs.keep(blob);
    sweep(store, freed);
  } catch (error) {
    await store.blobs.discard(received.blob);
    throw error;
  }
  return object;
}

/** Answers PutObject. */
export async function putWholeObject(store: Store, call: Call): Promise<Reply> {
  requireBucket(store, call.bucket);
  checkWrite(store, call);
  const headers = objectHeaders(call.headers, store.quirks.maxMetadataBytes);
  const received = await receiveBlob(store, call);
  const object = await keepAsObject(store, call, { received, headers });
  const answer: Record<string, string> = { etag: `"${object.etag}"`, ...versionHeader(store, object) };
  if (object.checksum !== undefined) {
    answer[checksumHeader(object.checksum.algorithm)] = object.checksum.value;
    answer["x-amz-checksum-type"] = object.checksum.type;
  }
  return emptyReply(200, answer);
}

/** Returns the source of a copy, after checking its conditions. Throws InvalidArgument, NoSuchKey, PreconditionFailed. */
export function copySource(store: Store, call: Call): StoredObject {
  const [raw = "", query = ""] = (call.headers.get("x-amz-copy-source") ?? "").split("?");
  let source: string;
  try {
    source = decodeURIComponent(raw).replace(/^\//, "");
  } catch {
    throw new S3Error("InvalidArgument", "x-amz-copy-source is not validly encoded.");
  }
  const slash = source.indexOf("/");
  if (slash <= 0 || slash === source.length - 1) {
    throw new S3Error("InvalidArgument", "Copy Source must mention the source bucket and key: sourcebucket/sourcekey");
  }
  const versionId = new URLSearchParams(query).get("versionId") ?? undefined;
  const object = requireObject(store, { bucket: source.slice(0, slash), key: source.slice(slash + 1), versionId });
  checkReadConditions(call.headers, object, "x-amz-copy-source-");
  return object;
}

/** Copies a range of a stored object into a new blob, as if a client had sent it. */
export async function receiveCopy(
  store: Store,
  call: Call,
  given: { readonly source: StoredObject; readonly range: ByteRange },
): Promise<ReceivedBlob> {
  const { source, range } = given;
  const slices = slicesOf(segmentsOf(store.database, source.id), range);
  const release = store.blobs.hold(slices.map((slice) => slice.blob));
  const headers = new Map([["content-length", String(range.last - range.first + 1)]]);
  const identity = { ...call.identity, payload: { kind: "unsigned" as const } };
  const algorithm = readAlgorithm(call.headers.get("x-amz-checksum-algorithm")) ?? source.checksum?.algorithm;
  try {
    return await receiveBlob(store, { ...call, headers, identity, body: () => store.blobs.read(slices) }, algorithm);
  } finally {
    release();
  }
}

/** Answers CopyObject. */
export async function copyObject(store: Store, call: Call): Promise<Reply> {
  requireBucket(store, call.bucket);
  checkWrite(store, call);
  const source = copySource(store, call);
  const replace = call.headers.get("x-amz-metadata-directive")?.toUpperCase() === "REPLACE";
  const isItself = findObject(store.database, call.bucket, call.key)?.id === source.id;
  if (!replace && isItself) {
    throw new S3Error(
      "InvalidRequest",
      "This copy request is illegal because it is trying to copy an object to itself without changing the object's metadata.",
    );
  }
  const headers = replace ? objectHeaders(call.headers, store.quirks.maxMetadataBytes) : source.headers;
  const received = await receiveCopy(store, call, { source, range: { first: 0, last: source.sizeBytes - 1 } });
  const object = await keepAsObject(store, call, { received, headers });
  const reply = xmlReply("CopyObjectResult", [
    leaf("LastModified", new Date(object.modifiedMs).toISOString()),
    leaf("ETag", `"${object.etag}"`),
    ...(object.checksum === undefined
      ? []
      : [leaf(checksumElement(object.checksum.algorithm), object.checksum.value), leaf("ChecksumType", "FULL_OBJECT")]),
  ]);
  return { ...reply, headers: { ...reply.headers, ...versionHeader(store, object) } };
}

/** Answers DeleteObject. A missing object counts as deleted, as on S3. A named version is deleted permanently. */
export function deleteObject(store: Store, call: Call): Reply {
  requireBucket(store, call.bucket);
  const id = call.request.query.get("versionId");
  if (id !== undefined) {
    requireVersioned(store, call.bucket);
    const at = { bucket: call.bucket, key: call.key, id };
    const isMark = findVersion(store.database, at)?.isMark === true;
    sweep(store, removeVersion(store.database, at));
    return emptyReply(204, { "x-amz-version-id": id, ...(isMark && { "x-amz-delete-marker": "true" }) });
  }
  const ifMatch = call.headers.get("if-match");
  if (ifMatch !== undefined) checkWrite(store, call);
  sweep(store, deleteObjects(store.database, { bucket: call.bucket, nowMs: store.now() }, [call.key]));
  return emptyReply(204, isVersioned(store.database, call.bucket) ? { "x-amz-delete-marker": "true" } : {});
}

/** Answers DeleteObjects: up to 1,000 keys, each with its own result. */
export async function deleteManyObjects(store: Store, call: Call): Promise<Reply> {
  requireBucket(store, call.bucket);
  const vouched =
    call.headers.has("content-md5") || [...call.headers.keys()].some((name) => name.startsWith("x-amz-checksum-"));
  if (!vouched && !call.headers.has("x-amz-trailer")) {
    throw new S3Error("InvalidRequest", "Missing required header for this request: Content-MD5 OR x-amz-checksum-*");
  }
  const root = parseXml(await receiveDocument(call, MAX_DELETE_DOCUMENT_BYTES));
  const keys = childrenNamed(root, "Object").map((object) => childText(object, "Key"));
  if (root.name !== "Delete" || keys.length === 0 || keys.length > MAX_DELETES) {
    throw new S3Error("MalformedXML", "The XML must hold between 1 and 1000 objects to delete.");
  }
  const named = keys.filter((key): key is string => key !== undefined && key !== "");
  if (named.length !== keys.length) throw new S3Error("MalformedXML", "An object to delete has no key.");
  if (childrenNamed(root, "Object").some((object) => childText(object, "VersionId") !== undefined)) {
    throw new S3Error("NotImplemented", "Versions are deleted one at a time here.");
  }
  sweep(store, deleteObjects(store.database, { bucket: call.bucket, nowMs: store.now() }, named));
  const quiet = childText(root, "Quiet") === "true";
  return xmlReply("DeleteResult", quiet ? [] : named.map((key) => branch("Deleted", [leaf("Key", key)])));
}
