import { DeleteObjectsCommand, GetBucketVersioningCommand, type S3Client } from "@aws-sdk/client-s3";
import type { KeepsVersions } from "#protocol/base/kept-versions.ts";
import { Fault, isFault, toFault } from "#protocol/faults/fault.ts";
import { forEachOf } from "#protocol/base/for-each-of.ts";
import { BY_CODE } from "../answers/fault-codes.ts";
import { faultOfSdk } from "../answers/faults.ts";
import { deleteObject } from "./objects.ts";
import { SUM_BY_MD5, sumByMd5 } from "./sum-by-md5.ts";

/** Deletes many objects with few requests. A key that the answer does not mention counts as a failure. */

/** The protocol's limit of keys per request. */
export const DELETE_BATCH = 1000;
const AT_A_TIME = 8;
const OP = "DeleteObjects";

/** Returns whether XML can carry a key: XML 1.0 excludes other characters, and parsers trim spaces at the ends. */
const isPlain = (key: string): boolean =>
  !/[\u0000-\u001f\u007f-\u009f\u2028\ufffe\uffff]|^\s|\s$/.test(key) && key.isWellFormed();

type Failures = Map<string, Fault>;

async function deleteBatch(client: S3Client, bucket: string, keys: readonly string[]): Promise<Failures> {
  const failures: Failures = new Map();
  if (keys.length === 0) return failures;
  const command = new DeleteObjectsCommand({ Bucket: bucket, Delete: { Objects: keys.map((Key) => ({ Key })) } });
  command.middlewareStack.add(sumByMd5, SUM_BY_MD5);
  const { Deleted = [], Errors = [] } = await client.send(command).catch((error: unknown) => {
    throw faultOfSdk(error, { op: OP, subject: bucket });
  });
  const deleted = new Set(Deleted.map(({ Key }) => Key));
  const refused = new Map(Errors.map(({ Key, Code }) => [Key, Code ?? "no code"]));
  for (const key of keys) {
    const code = refused.get(key);
    if (deleted.has(key) || code === "NoSuchKey") continue;
    const known = code !== undefined && Object.hasOwn(BY_CODE, code) ? BY_CODE[code] : undefined;
    const detail = code ?? "the store does not say whether it deleted it";
    failures.set(key, new Fault(known ?? "UNEXPECTED_ANSWER", { op: OP, subject: key, detail }));
  }
  return failures;
}

async function deleteSingly(client: S3Client, bucket: string, keys: readonly string[]): Promise<Failures> {
  const failures: Failures = new Map();
  await forEachOf(keys, AT_A_TIME, async (key) => {
    try {
      await deleteObject(client, { bucket, key });
    } catch (error) {
      failures.set(key, toFault(error));
    }
  });
  return failures;
}

/**
 * Deletes at most DELETE_BATCH keys; missing ones count as deleted. Returns the failures by key. Rejects with Faults that
 * concern the whole request.
 */
export async function deleteMany(client: S3Client, bucket: string, keys: readonly string[]): Promise<Failures> {
  const failures = await deleteSingly(
    client,
    bucket,
    keys.filter((key) => !isPlain(key)),
  );
  const plain = keys.filter(isPlain);
  try {
    return new Map([...failures, ...(await deleteBatch(client, bucket, plain))]);
  } catch (error) {
    if (!isFault(error) || error.code !== "UNSUPPORTED") throw error;
    return new Map([...failures, ...(await deleteSingly(client, bucket, plain))]);
  }
}

/** Returns whether the bucket keeps what is deleted as old versions; null where the store does not tell. */
export async function keepsVersions(client: S3Client, bucket: string): Promise<KeepsVersions> {
  try {
    const { Status } = await client.send(new GetBucketVersioningCommand({ Bucket: bucket }));
    return Status === "Suspended" ? "some" : Status === "Enabled";
  } catch {
    return null;
  }
}
