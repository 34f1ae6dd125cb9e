/** Operations on buckets and on their CORS rules. */
import { bucketNameProblem } from "./bucket-name.ts";
import { requireBucket, type Call, type Store } from "./call.ts";
import { createBucket, listBuckets, removeBucket, setBucketCors } from "./catalog-objects.ts";
import { keepVersions } from "./catalog-versions.ts";
import { corsElements, readCorsRules, storedRules } from "./cors.ts";
import { receiveDocument } from "./receive.ts";
import { emptyReply, xmlReply, type Reply } from "./reply.ts";
import { S3Error } from "./s3-error.ts";
import { isVersioned } from "./shelve-version.ts";
import { branch, childText, leaf, parseXml } from "./xml.ts";

const MAX_DOCUMENT_BYTES = 64 * 1024;

/** Answers ListBuckets. */
export function listAllBuckets(store: Store): Reply {
  const buckets = listBuckets(store.database).map((bucket) =>
    branch("Bucket", [leaf("Name", bucket.name), leaf("CreationDate", new Date(bucket.createdMs).toISOString())]),
  );
  const owner = branch("Owner", [leaf("ID", "tidemark"), leaf("DisplayName", "tidemark")]);
  return xmlReply("ListAllMyBucketsResult", [owner, branch("Buckets", buckets)]);
}

/** Answers CreateBucket. */
export async function createNewBucket(store: Store, call: Call): Promise<Reply> {
  const problem = bucketNameProblem(call.bucket);
  if (problem !== undefined) throw new S3Error("InvalidBucketName", problem, { fields: { BucketName: call.bucket } });
  const documentXml = await receiveDocument(call, MAX_DOCUMENT_BYTES);
  if (documentXml !== "") parseXml(documentXml);
  if (createBucket(store.database, { name: call.bucket, createdMs: store.now() }) === "existed") {
    throw new S3Error(
      "BucketAlreadyOwnedByYou",
      "Your previous request to create the named bucket succeeded and you already own it.",
      {
        fields: { BucketName: call.bucket },
      },
    );
  }
  return emptyReply(200, { location: `/${call.bucket}` });
}

/** Answers HeadBucket. */
export function headBucket(store: Store, call: Call): Reply {
  requireBucket(store, call.bucket);
  return emptyReply(200, { "x-amz-bucket-region": store.quirks.region ?? "us-east-1" });
}

/** Answers DeleteBucket. */
export function deleteBucket(store: Store, call: Call): Reply {
  requireBucket(store, call.bucket);
  if (removeBucket(store.database, call.bucket) === "not-empty") {
    throw new S3Error("BucketNotEmpty", "The bucket you tried to delete is not empty", {
      fields: { BucketName: call.bucket },
    });
  }
  return emptyReply(204);
}

/** Answers GetBucketLocation. The default region is an empty element, as on S3. */
export function getBucketLocation(store: Store, call: Call): Reply {
  requireBucket(store, call.bucket);
  const region = store.quirks.region ?? "us-east-1";
  return xmlReply("LocationConstraint", region === "us-east-1" ? [] : [region]);
}

/** Answers GetBucketVersioning. The status is absent until versioning was enabled. */
export function getBucketVersioning(store: Store, call: Call): Reply {
  requireBucket(store, call.bucket);
  const status = isVersioned(store.database, call.bucket) ? "Enabled" : undefined;
  return xmlReply("VersioningConfiguration", [leaf("Status", status)]);
}

/** Answers PutBucketVersioning, which can enable versioning but not suspend it. */
export async function putBucketVersioning(store: Store, call: Call): Promise<Reply> {
  requireBucket(store, call.bucket);
  const status = childText(parseXml(await receiveDocument(call, MAX_DOCUMENT_BYTES)), "Status");
  if (status !== "Enabled") throw new S3Error("NotImplemented", "This store only switches versions on.");
  keepVersions(store.database, call.bucket);
  return emptyReply(200);
}

function requireCorsApi(store: Store): void {
  if (store.quirks.noCorsApi === "on") {
    throw new S3Error("NotImplemented", "A header you provided implies functionality that is not implemented");
  }
}

/** Answers GetBucketCors. */
export function getBucketCors(store: Store, call: Call): Reply {
  requireCorsApi(store);
  const bucket = requireBucket(store, call.bucket);
  const rules = storedRules(bucket.cors);
  if (rules.length === 0) {
    throw new S3Error("NoSuchCORSConfiguration", "The CORS configuration does not exist", {
      fields: { BucketName: call.bucket },
    });
  }
  return xmlReply("CORSConfiguration", corsElements(rules));
}

/** Answers PutBucketCors. */
export async function putBucketCors(store: Store, call: Call): Promise<Reply> {
  requireCorsApi(store);
  requireBucket(store, call.bucket);
  const rules = readCorsRules(parseXml(await receiveDocument(call, MAX_DOCUMENT_BYTES)));
  setBucketCors(store.database, call.bucket, JSON.stringify(rules));
  return emptyReply(200);
}

/** Answers DeleteBucketCors. */
export function deleteBucketCors(store: Store, call: Call): Reply {
  requireCorsApi(store);
  requireBucket(store, call.bucket);
  setBucketCors(store.database, call.bucket, undefined);
  return emptyReply(204);
}
