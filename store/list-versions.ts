/** ListObjectVersions: one page of versions and delete markers, by key and newest first. */
import { integerQuery, requireBucket, type Call, type Store } from "./call.ts";
import { listVersions, type VersionSummary } from "./catalog-versions.ts";
import { encoder, markerSeek, nameOf, type Encode } from "./listing.ts";
import { requireVersioned } from "./read-object.ts";
import { xmlReply, type Reply } from "./reply.ts";
import type { Seek } from "./walk-keys.ts";
import { branch, leaf } from "./xml.ts";

const MAX_KEYS = 1000;

/** Answers ListObjectVersions. */
export function listObjectVersions(store: Store, call: Call): Reply {
  requireBucket(store, call.bucket);
  requireVersioned(store, call.bucket);
  const { query } = call.request;
  const prefix = query.get("prefix") ?? "";
  const delimiter = query.get("delimiter") ?? "";
  const keyMarker = query.get("key-marker") ?? "";
  const idMarker = query.get("version-id-marker") ?? "";
  const limit = integerQuery(call, "max-keys", { fallback: MAX_KEYS, max: MAX_KEYS });
  const { name, encode } = encoder(call);
  const plain = markerSeek(keyMarker, prefix, delimiter);
  const start: Seek | undefined =
    plain === undefined || idMarker === "" ? plain : { key: keyMarker, mode: "after", uploadId: idMarker };
  const { bucket } = call;
  const { entries, truncated } = listVersions(store.database, { bucket, prefix, delimiter, start, limit });
  const last = entries.at(-1);
  const hasMore = truncated === "more";
  return xmlReply("ListVersionsResult", [
    leaf("Name", bucket),
    leaf("Prefix", encode(prefix)),
    leaf("KeyMarker", encode(keyMarker)),
    leaf("VersionIdMarker", idMarker),
    leaf("NextKeyMarker", hasMore ? encode(nameOf(last, (row) => row.key)) : undefined),
    leaf("NextVersionIdMarker", hasMore && last?.kind === "row" ? last.row.id : undefined),
    leaf("MaxKeys", limit),
    leaf("Delimiter", delimiter === "" ? undefined : encode(delimiter)),
    leaf("EncodingType", name),
    leaf("IsTruncated", hasMore),
    ...entries.map((entry) =>
      entry.kind === "row"
        ? versionElement(entry.row, encode)
        : branch("CommonPrefixes", [leaf("Prefix", encode(entry.prefix))]),
    ),
  ]);
}

function versionElement(version: VersionSummary, encode: Encode): string {
  const { key, id, isNewest, isMark, modifiedMs, etag, sizeBytes } = version;
  const shared = [
    leaf("Key", encode(key)),
    leaf("VersionId", id),
    leaf("IsLatest", isNewest),
    leaf("LastModified", new Date(modifiedMs).toISOString()),
  ];
  if (isMark) return branch("DeleteMarker", shared);
  return branch("Version", [
    ...shared,
    leaf("ETag", `"${etag}"`),
    leaf("Size", sizeBytes),
    leaf("StorageClass", "STANDARD"),
  ]);
}
