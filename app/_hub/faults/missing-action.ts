/** What a key has to be allowed for an operation, in the words of a bucket's policy. */
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

/** The permission that is missing where a store refused `op`; null where that cannot be told. */
export const missingAction = (op: string | undefined): string | null =>
  op !== undefined && Object.hasOwn(ACTIONS, op) ? (ACTIONS[op] ?? null) : null;
