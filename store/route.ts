/** Determines the S3 operation of a request from method, path and query. */
import type { S3Request } from "./request.ts";

/** The operations of this store, by S3's names. `Unknown` is answered with NotImplemented. */
export const OPERATIONS = [
  "ListBuckets",
  "CreateBucket",
  "HeadBucket",
  "DeleteBucket",
  "GetBucketLocation",
  "GetBucketVersioning",
  "PutBucketVersioning",
  "GetBucketCors",
  "PutBucketCors",
  "DeleteBucketCors",
  "ListObjects",
  "ListObjectsV2",
  "ListObjectVersions",
  "ListMultipartUploads",
  "DeleteObjects",
  "PutObject",
  "CopyObject",
  "GetObject",
  "GetObjectAttributes",
  "HeadObject",
  "DeleteObject",
  "CreateMultipartUpload",
  "UploadPart",
  "UploadPartCopy",
  "CompleteMultipartUpload",
  "AbortMultipartUpload",
  "ListParts",
  "Preflight",
  "Unknown",
] as const;
export type Operation = (typeof OPERATIONS)[number];

/** Query names of S3 features that this store lacks. Ignoring them would turn the request into another operation. */
const FOREIGN_SUBRESOURCES = new Set(
  `accelerate acl analytics encryption intelligent-tiering inventory legal-hold lifecycle logging metrics
   notification object-lock ownershipControls policy policyStatus publicAccessBlock replication requestPayment restore
   retention select tagging torrent website`.split(/\s+/),
);

function bucketOperation(method: string, query: ReadonlyMap<string, string>): Operation {
  switch (method) {
    case "GET":
      if (query.has("location")) return "GetBucketLocation";
      if (query.has("versioning")) return "GetBucketVersioning";
      if (query.has("cors")) return "GetBucketCors";
      if (query.has("versions")) return "ListObjectVersions";
      if (query.has("uploads")) return "ListMultipartUploads";
      return query.get("list-type") === "2" ? "ListObjectsV2" : "ListObjects";
    case "HEAD":
      return "HeadBucket";
    case "PUT":
      if (query.has("cors")) return "PutBucketCors";
      return query.has("versioning") ? "PutBucketVersioning" : "CreateBucket";
    case "DELETE":
      return query.has("cors") ? "DeleteBucketCors" : "DeleteBucket";
    case "POST":
      return query.has("delete") ? "DeleteObjects" : "Unknown";
    default:
      return "Unknown";
  }
}

function objectOperation(request: S3Request): Operation {
  const { query, headers } = request;
  const upload = query.has("uploadId");
  const copy = headers.has("x-amz-copy-source") || query.has("x-amz-copy-source");
  switch (request.method) {
    case "GET":
      if (query.has("attributes")) return "GetObjectAttributes";
      return upload ? "ListParts" : "GetObject";
    case "HEAD":
      return "HeadObject";
    case "PUT":
      if (upload) return copy ? "UploadPartCopy" : "UploadPart";
      return copy ? "CopyObject" : "PutObject";
    case "DELETE":
      return upload ? "AbortMultipartUpload" : "DeleteObject";
    case "POST":
      if (query.has("uploads")) return "CreateMultipartUpload";
      return upload ? "CompleteMultipartUpload" : "Unknown";
    default:
      return "Unknown";
  }
}

/** Object operations that accept a version id. */
const OF_VERSIONS: ReadonlySet<Operation> = new Set(["GetObject", "HeadObject", "DeleteObject"]);

/** Returns whether version parameters appear on an operation that does not support them. */
function isMisplaced(request: S3Request, operation: Operation): boolean {
  if (request.query.has("versions") && operation !== "ListObjectVersions") return true;
  return request.query.has("versionId") && !OF_VERSIONS.has(operation);
}

/** Returns the operation of a request. */
export function operationOf(request: S3Request): Operation {
  if (request.method === "OPTIONS") return "Preflight";
  for (const name of request.query.keys()) if (FOREIGN_SUBRESOURCES.has(name)) return "Unknown";
  if (request.bucket === undefined) return request.method === "GET" ? "ListBuckets" : "Unknown";
  const operation =
    request.key === undefined ? bucketOperation(request.method, request.query) : objectOperation(request);
  return isMisplaced(request, operation) ? "Unknown" : operation;
}
