import { DeleteObjectCommand, type S3Client } from "@aws-sdk/client-s3";
import type { ObjectVersion } from "#protocol/buckets/bucket.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { versionsPage } from "./browse.ts";
import { faultOfSdk } from "../answers/faults.ts";

/** Single versions of one key, looked up and taken away. */

const ROWS = 1000;
/** So many versions of one key are gone through. */
const MOST_PAGES = 20;

export interface FoundVersions {
  /** What the key has now: an object, a mark of deletion, or nothing at all. */
  newest: ObjectVersion | null;
  /** The version that was asked for; null when it is gone. */
  wanted: ObjectVersion | null;
}

/** Faults: UNSUPPORTED where the store has none, TOO_LARGE past 20,000 versions of one key, CANCELLED, those of the store. */
export async function findVersions(
  client: S3Client,
  input: { bucket: string; key: string; versionId: string; signal: AbortSignal },
): Promise<FoundVersions> {
  const { bucket, key, versionId, signal } = input;
  const found: FoundVersions = { newest: null, wanted: null };
  let from: string | null = null;
  for (let pages = 0; pages < MOST_PAGES; pages++) {
    const at: Parameters<typeof versionsPage>[1] = { bucket, prefix: key, delimiter: "", from, limit: ROWS, signal };
    const page: Awaited<ReturnType<typeof versionsPage>> = await versionsPage(client, at);
    const own = page.versions.filter((version) => version.key === key);
    found.newest ??= own.find(({ isLatest }) => isLatest) ?? null;
    found.wanted ??= own.find((version) => version.versionId === versionId) ?? null;
    // What begins with the key and is longer comes behind it.
    const isPast = page.versions.some((version) => version.key !== key);
    if (page.next === null || isPast || (found.newest !== null && found.wanted !== null)) return found;
    from = page.next;
  }
  throw new Fault("TOO_LARGE", { op: "ListObjectVersions", subject: key, detail: "it has too many versions" });
}

/** Takes one version away for good; one that is gone is as it was wanted. Faults: CANCELLED, those of the store. */
export async function deleteVersion(
  client: S3Client,
  input: { bucket: string; key: string; versionId: string; signal: AbortSignal },
): Promise<void> {
  const { bucket, key, versionId, signal } = input;
  const command = new DeleteObjectCommand({ Bucket: bucket, Key: key, VersionId: versionId });
  try {
    await client.send(command, { abortSignal: signal });
  } catch (error) {
    if (signal.aborted) throw new Fault("CANCELLED", { op: "DeleteObject", subject: key });
    throw faultOfSdk(error, { op: "DeleteObject", subject: key });
  }
}
