/** GetObjectAttributes: metadata of an object, including the checksums of its parts. */
import type { Call, Store } from "./call.ts";
import { segmentsOf, type Segment, type StoredObject } from "./catalog-objects.ts";
import { checksumElement } from "./checksum.ts";
import { checkReadConditions } from "./conditions.ts";
import { requireObject } from "./read-object.ts";
import { xmlReply, type Reply } from "./reply.ts";
import { S3Error } from "./s3-error.ts";
import { branch, leaf } from "./xml.ts";

const MOST_PARTS = 1000;

function wholeFrom(text: string | undefined, otherwise: number): number {
  if (text === undefined) return otherwise;
  if (/^\d{1,5}$/.test(text)) return Number(text);
  throw new S3Error("InvalidArgument", "Provided part number marker or number of parts is no whole number.");
}

function partsElement(call: Call, object: StoredObject, segments: readonly Segment[]): string {
  const after = wholeFrom(call.headers.get("x-amz-part-number-marker"), 0);
  const limit = Math.min(MOST_PARTS, wholeFrom(call.headers.get("x-amz-max-parts"), MOST_PARTS));
  const page = segments.slice(after, after + limit);
  const algorithm = object.checksum?.algorithm;
  return branch("ObjectParts", [
    leaf("PartsCount", segments.length),
    leaf("PartNumberMarker", after),
    leaf("NextPartNumberMarker", after + page.length),
    leaf("MaxParts", limit),
    leaf("IsTruncated", after + page.length < segments.length),
    // As on S3, only objects uploaded with checksums list their parts.
    ...(algorithm === undefined
      ? []
      : page.map((segment, index) =>
          branch("Part", [
            leaf("PartNumber", after + index + 1),
            leaf("Size", segment.sizeBytes),
            leaf(checksumElement(algorithm), segment.checksum),
          ]),
        )),
  ]);
}

/** Answers GetObjectAttributes. */
export function getObjectAttributes(store: Store, call: Call): Reply {
  const object = requireObject(store, { bucket: call.bucket, key: call.key });
  checkReadConditions(call.headers, object);
  const asked = new Set((call.headers.get("x-amz-object-attributes") ?? "").split(",").map((name) => name.trim()));
  if (asked.has("")) throw new S3Error("InvalidArgument", "Invalid attribute name specified.");
  const { checksum, etag, sizeBytes, modifiedMs } = object;
  const segments = segmentsOf(store.database, object.id);
  const isMultipart = segments.length > 1 || checksum?.type === "COMPOSITE";
  return xmlReply(
    "GetObjectAttributesResponse",
    [
      asked.has("ETag") ? leaf("ETag", etag) : "",
      asked.has("Checksum") && checksum !== undefined
        ? branch("Checksum", [
            leaf(checksumElement(checksum.algorithm), checksum.value),
            leaf("ChecksumType", checksum.type),
          ])
        : "",
      asked.has("ObjectParts") && isMultipart ? partsElement(call, object, segments) : "",
      asked.has("ObjectSize") ? leaf("ObjectSize", sizeBytes) : "",
    ],
    { "last-modified": new Date(modifiedMs).toUTCString() },
  );
}
