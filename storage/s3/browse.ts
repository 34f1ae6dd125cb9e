import {
  type DeleteMarkerEntry,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  type ListMultipartUploadsCommandOutput,
  ListObjectsV2Command,
  type ListObjectsV2CommandOutput,
  ListObjectVersionsCommand,
  type ListObjectVersionsCommandOutput,
  type S3Client,
} from "@aws-sdk/client-s3";
import type { BucketObject, ObjectVersion } from "#protocol/buckets/bucket.ts";
import { Fault, isFault } from "#protocol/faults/fault.ts";
import { quoteEtag } from "../answers/check-range.ts";
import {
  askForNames,
  markerBefore,
  type NameReader,
  PLAIN_NAMES,
  readerOfMarker,
  readerOfNames,
} from "../answers/decode-names.ts";
import { faultOfSdk } from "../answers/faults.ts";
import { archiveStateOf, type ArchiveState } from "../answers/storage-class.ts";

/**
 * Single pages of listings for interactive browsing; the caller requests further pages. As strict as `listing.ts`.
 * Requests percent-encoded names, because XML cannot carry every character of a key. A store that does not encode omits
 * EncodingType from its answer. A page that is encoded anyway is requested again without encoding.
 */

export interface Asked {
  bucket: string;
  prefix: string;
  /** Empty: no grouping by folder. */
  delimiter: "/" | "";
  /** Start of the page, as the previous page returned it; null: the first page. */
  from: string | null;
  limit: number;
  signal?: AbortSignal | undefined;
}

const unexpected = (op: string, subject: string, detail: string): Fault =>
  new Fault("UNEXPECTED_ANSWER", { op, subject, detail });

type KeyEncoding = "url" | null;
const withEncoding = (encoding: KeyEncoding) => (encoding === null ? {} : { EncodingType: encoding });

/** A page, its names as the store wrote them, and the reader for them. */
interface NamedPage<T> {
  page: T;
  names: readonly string[];
  reader: NameReader;
}

/** Requests a page with readable names. `isThere` is that of `readerOfNames`. */
async function askNamed<T extends { EncodingType?: string | undefined }>(
  ask: (encoding: KeyEncoding) => Promise<T>,
  about: { namesOf: (page: T) => readonly string[]; isThere: (key: string) => Promise<boolean> },
): Promise<NamedPage<T>> {
  const { namesOf, isThere } = about;
  const isEncoded = (page: T) => page.EncodingType === "url";
  const page = await askForNames(ask, { isEncoded, namesOf });
  const names = namesOf(page);
  return { page, names, reader: isEncoded(page) ? await readerOfNames(names, isThere) : PLAIN_NAMES };
}

/** Wraps a reader: `read` returns null for a name that is not UTF-8 and adds a displayable form to `unreadable`. */
function collecting(names: NameReader): { read: (name: string) => string | null; unreadable: string[] } {
  const unreadable: string[] = [];
  const read = (name: string): string | null => {
    const key = names.read(name);
    if (key === null) unreadable.push(names.bytesOf(name).toString("utf8"));
    return key;
  };
  return { read, unreadable };
}

const namesIn = (...lists: (readonly { Key?: string | undefined; Prefix?: string | undefined }[] | undefined)[]) =>
  lists.flatMap((list) => (list ?? []).flatMap(({ Key, Prefix }) => Key ?? Prefix ?? []));

const under = (key: string, about: { prefix: string; op: string }): string => {
  if (!key.startsWith(about.prefix)) throw unexpected(about.op, about.prefix, "a key that lies under another prefix");
  return key;
};

interface About {
  op: string;
  subject: string;
  signal: AbortSignal | undefined;
}

const withSignal = (signal: AbortSignal | undefined) => (signal === undefined ? {} : { abortSignal: signal });

async function answered<T>(call: Promise<T>, about: About): Promise<T> {
  const { op, subject, signal } = about;
  try {
    return await call;
  } catch (error) {
    if (signal?.aborted === true) throw new Fault("CANCELLED", { op, subject });
    throw faultOfSdk(error, { op, subject });
  }
}

/**
 * Returns one page of ListObjectsV2. `from` is a continuation token; `startAfter` counts without one. `mayName`: names
 * that are not UTF-8, which no request can ask for, go to `unreadable`. Without `mayName` they are a Fault, because the
 * caller needs all objects. Rejects with CANCELLED and Faults of the store.
 */
export async function listPage(
  client: S3Client,
  input: Asked & { startAfter: string | null; mayName?: true },
): Promise<{ folders: string[]; objects: BucketObject[]; unreadable: string[]; next: string | null }> {
  const op = "ListObjectsV2";
  const { bucket, prefix, delimiter, from, limit, signal, startAfter } = input;
  const about = { op, subject: `${bucket}/${prefix}`, signal };
  const asked = {
    Bucket: bucket,
    Prefix: prefix,
    MaxKeys: limit,
    ...(delimiter !== "" && { Delimiter: delimiter }),
    ...(from !== null ? { ContinuationToken: from } : startAfter !== null && { StartAfter: startAfter }),
  };
  const ask = (encoding: KeyEncoding) =>
    answered(client.send(new ListObjectsV2Command({ ...asked, ...withEncoding(encoding) }), withSignal(signal)), about);
  const isThere = async (key: string): Promise<boolean> => {
    const one = new ListObjectsV2Command({ Bucket: bucket, Prefix: key, MaxKeys: 1, EncodingType: "url" });
    const { Contents: found = [] } = await answered(client.send(one, withSignal(signal)), about);
    return found.length > 0;
  };
  const namesOf = ({ Contents, CommonPrefixes }: ListObjectsV2CommandOutput) => namesIn(Contents, CommonPrefixes);
  const { page, reader } = await askNamed(ask, { namesOf, isThere });
  const { read: readAny, unreadable } = collecting(reader);
  const read = (name: string): string | null => {
    const key = readAny(name);
    if (key !== null) return under(key, { prefix, op });
    if (input.mayName === true) return null;
    throw unexpected(op, "a name in the listing", "it is not percent-encoded UTF-8");
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

/** Encodes the two markers of a page of versions or uploads in one text. */
const joinMarkers = (key: string, second: string | undefined): string => JSON.stringify([key, second ?? ""]);
function splitMarkers(from: string | null): { key: string | undefined; second: string | undefined } {
  if (from === null) return { key: undefined, second: undefined };
  const [key, second] = JSON.parse(from) as [string, string];
  return { key, second: second === "" ? undefined : second };
}

/** Returns the next page's markers; null after the last page. @throws Fault UNEXPECTED_ANSWER for a missing or repeated marker */
function nextMarkers(
  page: { IsTruncated: boolean | undefined; NextKeyMarker: string | undefined; second: string | undefined },
  about: { op: string; subject: string; from: string | null; names: readonly string[]; reader: NameReader },
): string | null {
  const refuse = (detail: string) => unexpected(about.op, about.subject, detail);
  if (page.IsTruncated === undefined) throw refuse("no IsTruncated in the answer");
  if (!page.IsTruncated) return null;
  if (page.NextKeyMarker === undefined) throw refuse("a page that does not say where the next one starts");
  const marker = page.NextKeyMarker;
  const reader = readerOfMarker(marker, about);
  const key = reader.read(marker);
  const next = key === null ? joinMarkers(markerBefore(reader.bytesOf(marker)), "") : joinMarkers(key, page.second);
  if (next === about.from) throw refuse("a page that leads to itself");
  return next;
}

/**
 * Returns one page of ListObjectVersions. Names that are not UTF-8, which no request can ask for, go to `unreadable`,
 * perhaps on two pages. Rejects with UNSUPPORTED where the store has no versions, CANCELLED, and Faults of the store.
 */
export async function versionsPage(
  client: S3Client,
  input: Asked,
): Promise<{ folders: string[]; versions: ObjectVersion[]; unreadable: string[]; next: string | null }> {
  const op = "ListObjectVersions";
  const { bucket, prefix, delimiter, from, limit, signal } = input;
  const about = { op, subject: `${bucket}/${prefix}`, signal };
  const markers = splitMarkers(from);
  const asked = {
    Bucket: bucket,
    Prefix: prefix,
    MaxKeys: limit,
    KeyMarker: markers.key,
    VersionIdMarker: markers.second,
    ...(delimiter !== "" && { Delimiter: delimiter }),
  };
  const ask = (encoding: KeyEncoding) =>
    answered(
      client.send(new ListObjectVersionsCommand({ ...asked, ...withEncoding(encoding) }), withSignal(signal)),
      about,
    );
  // Only this listing includes deleted objects.
  const isThere = async (key: string): Promise<boolean> => {
    const one = new ListObjectVersionsCommand({ Bucket: bucket, Prefix: key, MaxKeys: 1, EncodingType: "url" });
    const found = await answered(client.send(one, withSignal(signal)), about);
    return (found.Versions ?? []).length + (found.DeleteMarkers ?? []).length > 0;
  };
  const namesOf = ({ Versions, DeleteMarkers, CommonPrefixes }: ListObjectVersionsCommandOutput) =>
    namesIn(Versions, DeleteMarkers, CommonPrefixes);
  const { page, names, reader } = await askNamed(ask, { namesOf, isThere });
  const { read, unreadable } = collecting(reader);
  const { IsTruncated, NextKeyMarker, NextVersionIdMarker: second } = page;
  const next = nextMarkers({ IsTruncated, NextKeyMarker, second }, { ...about, from, names, reader });
  const describe = (row: DeleteMarkerEntry, of: Pick<ObjectVersion, "isDeleteMarker" | "sizeBytes" | "etag">) => {
    const { Key, VersionId, IsLatest, LastModified } = row;
    if (Key === undefined || LastModified === undefined)
      throw unexpected(op, about.subject, `a ${of.isDeleteMarker ? "delete marker" : "version"} without a key or date`);
    const key = read(Key);
    if (key === null) return [];
    const [versionId, isLatest, modifiedAt] = [VersionId ?? "null", IsLatest ?? false, LastModified.getTime()];
    return [{ key: under(key, { prefix, op }), versionId, isLatest, modifiedAt, ...of }];
  };
  const whole = (page.Versions ?? []).flatMap((row) => {
    const etag = row.ETag === undefined ? null : quoteEtag(row.ETag);
    return describe(row, { isDeleteMarker: false, sizeBytes: row.Size ?? 0, etag });
  });
  const markersOf = (page.DeleteMarkers ?? []).flatMap((row) =>
    describe(row, { isDeleteMarker: true, sizeBytes: 0, etag: null }),
  );
  // The SDK separates versions from delete markers. The store lists them together by key, newest first.
  const versions = [...whole, ...markersOf].toSorted((a, b) =>
    a.key === b.key ? b.modifiedAt - a.modifiedAt || Number(b.isLatest) - Number(a.isLatest) : a.key < b.key ? -1 : 1,
  );
  const folders = (page.CommonPrefixes ?? []).flatMap(({ Prefix = "" }) => {
    const key = read(Prefix);
    return key === null ? [] : [under(key, { prefix, op })];
  });
  return { folders, versions, unreadable: [...new Set(unreadable)], next };
}

export interface ListedUpload {
  key: string;
  uploadId: string;
  /** Epoch ms by the store's clock; 0 where the store omits it. */
  startedAt: number;
}

/** Returns one page of ListMultipartUploads; names as in `versionsPage`. Rejects with CANCELLED and Faults of the store. */
export async function uploadsPage(
  client: S3Client,
  input: Omit<Asked, "delimiter">,
): Promise<{ uploads: ListedUpload[]; unreadable: string[]; next: string | null }> {
  const op = "ListMultipartUploads";
  const { bucket, prefix, from, limit, signal } = input;
  const about = { op, subject: `${bucket}/${prefix}`, signal };
  const markers = splitMarkers(from);
  const asked = {
    Bucket: bucket,
    Prefix: prefix,
    MaxUploads: limit,
    KeyMarker: markers.key,
    UploadIdMarker: markers.second,
  };
  const ask = (encoding: KeyEncoding) =>
    answered(
      client.send(new ListMultipartUploadsCommand({ ...asked, ...withEncoding(encoding) }), withSignal(signal)),
      about,
    );
  // No listing of objects includes open uploads.
  const isThere = async (key: string): Promise<boolean> => {
    const one = new ListMultipartUploadsCommand({ Bucket: bucket, Prefix: key, MaxUploads: 1, EncodingType: "url" });
    try {
      const { Uploads: found = [] } = await answered(client.send(one, withSignal(signal)), about);
      return found.some((upload) => upload.Key !== undefined);
    } catch (error) {
      // Some stores list uploads by folder prefixes only.
      if (isFault(error) && error.code === "UNSUPPORTED") return false;
      throw error;
    }
  };
  const namesOf = ({ Uploads }: ListMultipartUploadsCommandOutput) => namesIn(Uploads);
  const { page, names, reader } = await askNamed(ask, { namesOf, isThere });
  const { read, unreadable } = collecting(reader);
  const { IsTruncated, NextKeyMarker, NextUploadIdMarker: second } = page;
  const next = nextMarkers({ IsTruncated, NextKeyMarker, second }, { ...about, from, names, reader });
  const uploads = (page.Uploads ?? []).flatMap(({ Key, UploadId, Initiated }) => {
    if (Key === undefined || UploadId === undefined)
      throw unexpected(op, about.subject, "an upload without a key or id");
    const key = read(Key);
    // Some stores return uploads outside the prefix.
    if (key?.startsWith(prefix) !== true) return [];
    return [{ key, uploadId: UploadId, startedAt: Initiated?.getTime() ?? 0 }];
  });
  return { uploads, unreadable: [...new Set(unreadable)], next };
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
  archive: ArchiveState;
}

/** Returns everything that HEAD reports, with any checksums. Rejects with NO_SUCH_KEY, CANCELLED and Faults of the store. */
export async function describeObject(
  client: S3Client,
  input: { bucket: string; key: string; withChecksums: "asked for" | "left out"; signal: AbortSignal },
): Promise<DescribedObject> {
  const op = "HeadObject";
  const { bucket, key, signal, withChecksums } = input;
  const mode = withChecksums === "asked for" ? { ChecksumMode: "ENABLED" as const } : {};
  const command = new HeadObjectCommand({ Bucket: bucket, Key: key, ...mode });
  const answer = await answered(client.send(command, withSignal(signal)), { op, subject: key, signal });
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
    archive: archiveStateOf({
      storageClass: answer.StorageClass ?? null,
      archiveStatus: answer.ArchiveStatus ?? null,
      restore: answer.Restore ?? null,
    }),
  };
}
