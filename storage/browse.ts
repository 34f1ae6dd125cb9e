import {
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  ListObjectVersionsCommand,
  type S3Client,
} from "@aws-sdk/client-s3";
import type { BucketObject, ObjectVersion } from "#protocol/bucket.ts";
import { Fault } from "#protocol/fault.ts";
import { quoteEtag } from "./check-range.ts";
import { readerOfNames, type ReadName, unreadableName } from "./decode-names.ts";
import { faultOfSdk } from "./faults.ts";
import { isArchive } from "./storage-class.ts";

/**
 * Single pages of listings, for people who look around: what comes next is the caller's to ask for. As strict as
 * `listing.ts` about what a page says. Names are asked for percent-encoded, because XML cannot carry every character that a
 * key may have; a store that does not do that says so by not repeating the wish.
 */

interface Asked {
  bucket: string;
  prefix: string;
  /** Empty: no grouping. */
  delimiter: "/" | "";
  /** Where the page begins, as the page before said; null: at the beginning. */
  from: string | null;
  limit: number;
  signal: AbortSignal;
}

const unexpected = (op: string, subject: string, detail: string): Fault =>
  new Fault("UNEXPECTED_ANSWER", { op, subject, detail });

interface NamedPage {
  encoding: string | undefined;
  names: readonly (string | undefined)[];
  op: string;
}

/** Reads the names of one answer; null for one that is no UTF-8. `isThere` as that of `readerOfNames`. */
async function reader(page: NamedPage, isThere: (key: string) => Promise<boolean>): Promise<ReadName> {
  if (page.encoding !== "url") return (name) => name;
  return readerOfNames(
    page.names.filter((name) => name !== undefined),
    isThere,
  );
}

/** The same where every name counts. Faults: UNEXPECTED_ANSWER for an encoding that is none. */
async function decoder(page: NamedPage, isThere: (key: string) => Promise<boolean>): Promise<(name: string) => string> {
  const read = await reader(page, isThere);
  return (name) => {
    const key = read(name);
    if (key === null) throw unexpected(page.op, "a name in the listing", "it is not percent-encoded UTF-8");
    return key;
  };
}

/** Asks the store whether there is a key that begins so. */
const asks =
  (client: S3Client, { bucket, signal }: { bucket: string; signal: AbortSignal }) =>
  async (key: string): Promise<boolean> => {
    const command = new ListObjectsV2Command({ Bucket: bucket, Prefix: key, MaxKeys: 1, EncodingType: "url" });
    const about = { op: "ListObjectsV2", subject: `${bucket}/${key}`, signal };
    const { Contents: found = [] } = await answered(client.send(command, { abortSignal: signal }), about);
    return found.length > 0;
  };

const namesIn = (...lists: (readonly { Key?: string | undefined; Prefix?: string | undefined }[] | undefined)[]) =>
  lists.flatMap((list) => (list ?? []).map(({ Key, Prefix }) => Key ?? Prefix));

const under = (key: string, about: { prefix: string; op: string }): string => {
  if (!key.startsWith(about.prefix)) throw unexpected(about.op, about.prefix, "a key that lies under another prefix");
  return key;
};

async function answered<T>(call: Promise<T>, about: { op: string; subject: string; signal: AbortSignal }): Promise<T> {
  const { op, subject, signal } = about;
  try {
    return await call;
  } catch (error) {
    if (signal.aborted) throw new Fault("CANCELLED", { op, subject });
    throw faultOfSdk(error, { op, subject });
  }
}

/**
 * One page of ListObjectsV2; `from` is a continuation token, `startAfter` counts where there is none. `mayName`: names that are
 * no UTF-8, which no request can ask for, are told apart; left out: they are a fault, because somebody means all objects.
 * Faults: CANCELLED, those of the store.
 */
export async function listPage(
  client: S3Client,
  input: Asked & { startAfter: string | null; mayName?: true },
): Promise<{ folders: string[]; objects: BucketObject[]; unreadable: string[]; next: string | null }> {
  const op = "ListObjectsV2";
  const { bucket, prefix, delimiter, from, limit, signal, startAfter } = input;
  const about = { op, subject: `${bucket}/${prefix}`, signal };
  const command = new ListObjectsV2Command({
    Bucket: bucket,
    Prefix: prefix,
    MaxKeys: limit,
    EncodingType: "url",
    ...(delimiter !== "" && { Delimiter: delimiter }),
    ...(from !== null ? { ContinuationToken: from } : startAfter !== null && { StartAfter: startAfter }),
  });
  const page = await answered(client.send(command, { abortSignal: signal }), about);
  const names = namesIn(page.Contents, page.CommonPrefixes);
  const named = { encoding: page.EncodingType, names, op };
  const readAll = await reader(named, asks(client, { bucket, signal }));
  const unreadable: string[] = [];
  const read = (name: string): string | null => {
    const key = readAll(name);
    if (key !== null) return under(key, { prefix, op });
    if (input.mayName !== true) throw unexpected(op, "a name in the listing", "it is not percent-encoded UTF-8");
    unreadable.push(unreadableName(name));
    return null;
  };
  if (page.IsTruncated === undefined) throw unexpected(op, about.subject, "no IsTruncated in the answer");
  if (page.Name !== undefined && page.Name !== bucket)
    throw unexpected(op, about.subject, "a listing of another bucket");
  const next = page.IsTruncated ? (page.NextContinuationToken ?? "") : null;
  if (next === "" || (next !== null && next === from)) {
    throw unexpected(op, about.subject, "a page that does not say where the next one starts");
  }
  const objects = (page.Contents ?? []).flatMap(({ Key, Size, ETag, LastModified, StorageClass }): BucketObject[] => {
    if (Key === undefined || Size === undefined || ETag === undefined || LastModified === undefined) {
      throw unexpected(op, about.subject, "an object without a key, size, ETag or date");
    }
    const key = read(Key);
    const modifiedAt = LastModified.getTime();
    const rest = { sizeBytes: Size, etag: quoteEtag(ETag), modifiedAt, storageClass: StorageClass ?? null };
    return key === null ? [] : [{ key, ...rest }];
  });
  const folders = (page.CommonPrefixes ?? []).flatMap(({ Prefix = "" }) => read(Prefix) ?? []);
  return { folders, objects, unreadable, next };
}

/** Where a page of versions or uploads goes on: two markers in one text. */
const joinMarkers = (key: string, second: string | undefined): string => JSON.stringify([key, second ?? ""]);
function splitMarkers(from: string | null): { key: string | undefined; second: string | undefined } {
  if (from === null) return { key: undefined, second: undefined };
  const [key, second] = JSON.parse(from) as [string, string];
  return { key, second: second === "" ? undefined : second };
}

/** Null behind the last page. Faults: UNEXPECTED_ANSWER for a page that does not say, or that leads to itself. */
function nextMarkers(
  page: { IsTruncated: boolean | undefined; NextKeyMarker: string | undefined; second: string | undefined },
  about: { op: string; subject: string; from: string | null; read: (name: string) => string },
): string | null {
  const refuse = (detail: string) => unexpected(about.op, about.subject, detail);
  if (page.IsTruncated === undefined) throw refuse("no IsTruncated in the answer");
  if (!page.IsTruncated) return null;
  if (page.NextKeyMarker === undefined) throw refuse("a page that does not say where the next one starts");
  const next = joinMarkers(about.read(page.NextKeyMarker), page.second);
  if (next === about.from) throw refuse("a page that leads to itself");
  return next;
}

/** One page of ListObjectVersions. Faults: UNSUPPORTED where the store has none, CANCELLED, those of the store. */
export async function versionsPage(
  client: S3Client,
  input: Asked,
): Promise<{ folders: string[]; versions: ObjectVersion[]; next: string | null }> {
  const op = "ListObjectVersions";
  const { bucket, prefix, delimiter, from, limit, signal } = input;
  const about = { op, subject: `${bucket}/${prefix}`, signal };
  const markers = splitMarkers(from);
  const command = new ListObjectVersionsCommand({
    Bucket: bucket,
    Prefix: prefix,
    MaxKeys: limit,
    EncodingType: "url",
    KeyMarker: markers.key,
    VersionIdMarker: markers.second,
    ...(delimiter !== "" && { Delimiter: delimiter }),
  });
  const page = await answered(client.send(command, { abortSignal: signal }), about);
  const names = namesIn(page.Versions, page.DeleteMarkers, page.CommonPrefixes);
  const read = await decoder({ encoding: page.EncodingType, names, op }, asks(client, { bucket, signal }));
  const { IsTruncated, NextKeyMarker, NextVersionIdMarker: second } = page;
  const next = nextMarkers({ IsTruncated, NextKeyMarker, second }, { ...about, from, read });
  const whole = (page.Versions ?? []).map(({ Key, VersionId, IsLatest, Size, ETag, LastModified }): ObjectVersion => {
    if (Key === undefined || LastModified === undefined)
      throw unexpected(op, about.subject, "a version without a key or date");
    return {
      key: under(read(Key), { prefix, op }),
      versionId: VersionId ?? "null",
      isLatest: IsLatest ?? false,
      isDeleteMarker: false,
      sizeBytes: Size ?? 0,
      etag: ETag === undefined ? null : quoteEtag(ETag),
      modifiedAt: LastModified.getTime(),
    };
  });
  const markersOf = (page.DeleteMarkers ?? []).map(({ Key, VersionId, IsLatest, LastModified }): ObjectVersion => {
    if (Key === undefined || LastModified === undefined)
      throw unexpected(op, about.subject, "a delete marker without a key or date");
    return {
      key: under(read(Key), { prefix, op }),
      versionId: VersionId ?? "null",
      isLatest: IsLatest ?? false,
      isDeleteMarker: true,
      sizeBytes: 0,
      etag: null,
      modifiedAt: LastModified.getTime(),
    };
  });
  // The SDK parts them; the store lists them by key, newest first.
  const versions = [...whole, ...markersOf].toSorted((a, b) =>
    a.key === b.key ? b.modifiedAt - a.modifiedAt || Number(b.isLatest) - Number(a.isLatest) : a.key < b.key ? -1 : 1,
  );
  const folders = (page.CommonPrefixes ?? []).map(({ Prefix = "" }) => under(read(Prefix), { prefix, op }));
  return { folders, versions, next };
}

/** One page of ListMultipartUploads. Faults: CANCELLED, those of the store. */
export async function uploadsPage(
  client: S3Client,
  input: Omit<Asked, "delimiter">,
): Promise<{ uploads: { key: string; uploadId: string; startedAt: number }[]; next: string | null }> {
  const op = "ListMultipartUploads";
  const { bucket, prefix, from, limit, signal } = input;
  const about = { op, subject: `${bucket}/${prefix}`, signal };
  const markers = splitMarkers(from);
  const command = new ListMultipartUploadsCommand({
    Bucket: bucket,
    Prefix: prefix,
    MaxUploads: limit,
    EncodingType: "url",
    KeyMarker: markers.key,
    UploadIdMarker: markers.second,
  });
  const page = await answered(client.send(command, { abortSignal: signal }), about);
  const names = namesIn(page.Uploads);
  const read = await decoder({ encoding: page.EncodingType, names, op }, asks(client, { bucket, signal }));
  const { IsTruncated, NextKeyMarker, NextUploadIdMarker: second } = page;
  const next = nextMarkers({ IsTruncated, NextKeyMarker, second }, { ...about, from, read });
  const uploads = (page.Uploads ?? []).flatMap(({ Key, UploadId, Initiated }) => {
    if (Key === undefined || UploadId === undefined)
      throw unexpected(op, about.subject, "an upload without a key or id");
    const key = read(Key);
    // Some stores list more than they were asked for.
    return key.startsWith(prefix) ? [{ key, uploadId: UploadId, startedAt: Initiated?.getTime() ?? 0 }] : [];
  });
  return { uploads, next };
}

export interface DescribedObject {
  sizeBytes: number;
  etag: string;
  modifiedAt: number | null;
  storageClass: string | null;
  contentType: string | null;
  contentEncoding: string | null;
  checksums: { name: string; value: string }[];
  metadata: { name: string; value: string }[];
  versionId: string | null;
  /** Its bytes are in an archive, and nobody has had them brought back. */
  isArchived: boolean;
}

/** All that a HEAD tells of an object, its checksums where the store has any. Faults: NO_SUCH_KEY, CANCELLED, those of the store. */
export async function describeObject(
  client: S3Client,
  input: { bucket: string; key: string; withChecksums: "asked for" | "left out"; signal: AbortSignal },
): Promise<DescribedObject> {
  const op = "HeadObject";
  const { bucket, key, signal, withChecksums } = input;
  const mode = withChecksums === "asked for" ? { ChecksumMode: "ENABLED" as const } : {};
  const command = new HeadObjectCommand({ Bucket: bucket, Key: key, ...mode });
  const answer = await answered(client.send(command, { abortSignal: signal }), { op, subject: key, signal });
  if (answer.ContentLength === undefined || answer.ETag === undefined)
    throw unexpected(op, key, "no size or no ETag in the answer");
  const sums: [string, string | undefined][] = [
    ["CRC32", answer.ChecksumCRC32],
    ["CRC32C", answer.ChecksumCRC32C],
    ["CRC64NVME", answer.ChecksumCRC64NVME],
    ["SHA1", answer.ChecksumSHA1],
    ["SHA256", answer.ChecksumSHA256],
  ];
  return {
    sizeBytes: answer.ContentLength,
    etag: quoteEtag(answer.ETag),
    modifiedAt: answer.LastModified?.getTime() ?? null,
    storageClass: answer.StorageClass ?? null,
    contentType: answer.ContentType ?? null,
    contentEncoding: answer.ContentEncoding ?? null,
    checksums: sums.flatMap(([name, value]) => (value === undefined ? [] : [{ name, value }])),
    metadata: Object.entries(answer.Metadata ?? {}).map(([name, value]) => ({ name, value })),
    versionId: answer.VersionId ?? null,
    isArchived:
      (isArchive(answer.StorageClass ?? null) || answer.ArchiveStatus !== undefined) &&
      !/ongoing-request="false"/.test(answer.Restore ?? ""),
  };
}
