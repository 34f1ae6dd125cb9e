import { DeleteObjectCommand, type S3Client } from "@aws-sdk/client-s3";
import type { ObjectVersion } from "#protocol/buckets/bucket.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { versionsPage } from "./browse.ts";
import { faultOfSdk } from "../answers/faults.ts";

/** Finds and deletes single versions of one key. */

const ROWS = 1000;
/** Most pages of versions searched for one key. */
const MOST_PAGES = 20;

export interface FoundVersions {
  /** The newest version of the key: an object or a delete marker; null when there is none. */
  newest: ObjectVersion | null;
  /** The requested version; null when it is gone. */
  wanted: ObjectVersion | null;
}

/** Finds both. Rejects with UNSUPPORTED (no versions), TOO_LARGE (over 20,000), CANCELLED, Faults of the store. */
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
    // Longer keys with this prefix are listed after the key itself.
    const isPast = page.versions.some((version) => version.key !== key);
    if (page.next === null || isPast || (found.newest !== null && found.wanted !== null)) return found;
    from = page.next;
  }
  throw new Fault("TOO_LARGE", { op: "ListObjectVersions", subject: key, detail: "it has too many versions" });
}

/** Deletes one version permanently. A missing one counts as deleted. Rejects with CANCELLED and Faults of the store. */
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
