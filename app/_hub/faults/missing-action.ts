/** IAM permission that each S3 operation requires. */
const ACTIONS: Readonly<Record<string, string>> = {
  ListObjectsV2: "s3:ListBucket",
  HeadBucket: "s3:ListBucket",
  ListObjectVersions: "s3:ListBucketVersions",
  ListMultipartUploads: "s3:ListBucketMultipartUploads",
  ListParts: "s3:ListMultipartUploadParts",
  GetObject: "s3:GetObject",
  HeadObject: "s3:GetObject",
  PutObject: "s3:PutObject",
  CopyObject: "s3:PutObject",
  CreateMultipartUpload: "s3:PutObject",
  UploadPart: "s3:PutObject",
  UploadPartCopy: "s3:PutObject",
  CompleteMultipartUpload: "s3:PutObject",
  AbortMultipartUpload: "s3:AbortMultipartUpload",
  DeleteObject: "s3:DeleteObject",
  DeleteObjects: "s3:DeleteObject",
  GetBucketCors: "s3:GetBucketCORS",
  PutBucketCors: "s3:PutBucketCORS",
};

/** Returns the permission that is missing when a store refused `op`; null when unknown. */
export const missingAction = (op: string | undefined): string | null =>
  op !== undefined && Object.hasOwn(ACTIONS, op) ? (ACTIONS[op] ?? null) : null;
