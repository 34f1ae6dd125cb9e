/** GetObject and HeadObject: whole objects, byte ranges and single parts, with conditions. */
import type { BlobSlice } from "./blobs.ts";
import { requireBucket, type Call, type Store } from "./call.ts";
import { findObject, segmentsOf, type Segment, type StoredObject } from "./catalog-objects.ts";
import { findVersion } from "./catalog-versions.ts";
import { checkReadConditions } from "./conditions.ts";
import { answerHeaders } from "./object-headers.ts";
import { readRange, type ByteRange } from "./ranges.ts";
import { emptyReply, type Reply, type ReplyBody } from "./reply.ts";
import { S3Error } from "./s3-error.ts";
import { isVersioned } from "./shelve-version.ts";

/** Throws NotImplemented for a version request in a bucket without versioning. */
export function requireVersioned(store: Store, bucket: string): void {
  if (isVersioned(store.database, bucket)) return;
  throw new S3Error("NotImplemented", "Versions are not switched on for this bucket.");
}

/** Returns the version header of an object in a versioned bucket. */
export const versionHeader = (store: Store, object: StoredObject): Record<string, string> =>
  isVersioned(store.database, object.bucket) ? { "x-amz-version-id": object.id } : {};

/** Returns the object, or a version of it. Throws NoSuchBucket, NoSuchKey, NoSuchVersion, MethodNotAllowed. */
export function requireObject(
  store: Store,
  at: { readonly bucket: string; readonly key: string; readonly versionId?: string | undefined },
): StoredObject {
  const { bucket, key, versionId } = at;
  requireBucket(store, bucket);
  if (versionId !== undefined) {
    requireVersioned(store, bucket);
    const version = findVersion(store.database, { bucket, key, id: versionId });
    if (version === undefined)
      throw new S3Error("NoSuchVersion", "The specified version does not exist.", { fields: { Key: key } });
    if (version.isMark) {
      const headers = { "x-amz-delete-marker": "true" };
      throw new S3Error("MethodNotAllowed", "The specified method is not allowed against this resource.", { headers });
    }
    return version.object;
  }
  const object = findObject(store.database, bucket, key);
  if (object === undefined) {
    throw new S3Error("NoSuchKey", "The specified key does not exist.", { fields: { Key: key } });
  }
  return object;
}

/** Returns the blob slices that form a range of an object. */
export function slicesOf(segments: readonly Segment[], range: ByteRange): readonly BlobSlice[] {
  const slices: BlobSlice[] = [];
  let start = 0;
  for (const segment of segments) {
    const first = Math.max(range.first, start);
    const last = Math.min(range.last, start + segment.sizeBytes - 1);
    if (first <= last) slices.push({ blob: segment.blob, offset: first - start, sizeBytes: last - first + 1 });
    start += segment.sizeBytes;
  }
  return slices;
}

/** Returns a body that streams a range. It protects the blobs from deletion until it is closed. */
function streamBody(store: Store, segments: readonly Segment[], range: ByteRange): ReplyBody {
  const slices = slicesOf(segments, range);
  const release = store.blobs.hold(slices.map((slice) => slice.blob));
  return {
    kind: "stream",
    sizeBytes: range.last - range.first + 1,
    bytes: () => store.blobs.read(slices),
    close: release,
  };
}

function partRange(call: Call, segments: readonly Segment[]): ByteRange | undefined {
  const text = call.request.query.get("partNumber");
  if (text === undefined) return undefined;
  const index = Number(text) - 1;
  const segment = segments[index];
  if (segment === undefined) throw new S3Error("InvalidRange", "The requested partnumber is not satisfiable");
  const first = segments.slice(0, index).reduce((sum, earlier) => sum + earlier.sizeBytes, 0);
  return { first, last: first + segment.sizeBytes - 1 };
}

function describe(store: Store, call: Call): { reply: Reply; segments: readonly Segment[]; range: ByteRange } {
  const { bucket, key } = call;
  const object = requireObject(store, { bucket, key, versionId: call.request.query.get("versionId") });
  checkReadConditions(call.headers, object);
  const segments = segmentsOf(store.database, object.id);
  if (store.quirks.noPartNumber === "on" && call.request.query.has("partNumber")) {
    throw new S3Error("NotImplemented", "GET with partNumber is not supported by this endpoint.");
  }
  const part = partRange(call, segments);
  const asked = part ?? readRange(call.headers.get("range"), object.sizeBytes);
  const whole = { first: 0, last: object.sizeBytes - 1 };
  const range = asked ?? whole;
  const covers = range.first === whole.first && range.last === whole.last;
  const enabled = call.headers.get("x-amz-checksum-mode")?.toUpperCase() === "ENABLED";
  const headers = answerHeaders(object, {
    query: call.request.query,
    checksum: enabled && covers ? "shown" : "hidden",
  });
  Object.assign(headers, versionHeader(store, object));
  headers["content-length"] = String(range.last - range.first + 1);
  if (part !== undefined) headers["x-amz-mp-parts-count"] = String(segments.length);
  if (asked !== undefined) headers["content-range"] = `bytes ${range.first}-${range.last}/${object.sizeBytes}`;
  return { reply: emptyReply(asked === undefined ? 200 : 206, headers), segments, range };
}

/** Answers HeadObject. */
export function headObject(store: Store, call: Call): Reply {
  return describe(store, call).reply;
}

/** Answers GetObject with a streamed body. */
export function getObject(store: Store, call: Call): Reply {
  const { reply, segments, range } = describe(store, call);
  if (range.last < range.first) return reply;
  return { ...reply, body: streamBody(store, segments, range) };
}
