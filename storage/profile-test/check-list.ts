/** The operations of the profile test as data: purpose, required permission, and the checks that must succeed first. */

interface Check {
  readonly neededFor: string;
  /** The S3 action that a policy must allow. */
  readonly action: string;
  /** Whether uploads and restores are impossible without it. */
  readonly required: boolean;
  readonly after: readonly CheckName[];
}

export type CheckName =
  | "ListObjectsV2"
  | "PutObject"
  | "HeadObject"
  | "GetObject"
  | "GetObject if-match"
  | "PutObject if-none-match"
  | "CreateMultipartUpload"
  | "UploadPart"
  | "ListParts"
  | "CompleteMultipartUpload"
  | "AbortMultipartUpload"
  | "ListMultipartUploads"
  | "CompleteMultipartUpload if-none-match"
  | "DeleteObject"
  | "GetBucketCors"
  | "Clock";

export const CHECKS: Readonly<Record<CheckName, Check>> = {
  ListObjectsV2: {
    neededFor: "finding checkpoints, and comparing every object before a checkpoint counts as safe",
    action: "s3:ListBucket",
    required: true,
    after: [],
  },
  PutObject: {
    neededFor: "uploading small files and writing manifests",
    action: "s3:PutObject",
    required: true,
    after: [],
  },
  HeadObject: {
    neededFor: "recognising an upload whose confirmation was lost",
    action: "s3:GetObject",
    required: true,
    after: ["PutObject"],
  },
  GetObject: {
    neededFor: "restoring, in several byte ranges at once",
    action: "s3:GetObject",
    required: true,
    after: ["PutObject"],
  },
  "GetObject if-match": {
    neededFor: "noticing before the first byte that an object was replaced (noticed from its ETag otherwise)",
    action: "s3:GetObject",
    required: false,
    after: ["GetObject"],
  },
  "PutObject if-none-match": {
    neededFor: "a second fence against writing one key twice",
    action: "s3:PutObject",
    required: false,
    after: ["PutObject"],
  },
  CreateMultipartUpload: {
    neededFor: "uploading large files in parts",
    action: "s3:PutObject",
    required: true,
    after: [],
  },
  UploadPart: {
    neededFor: "uploading large files in parts",
    action: "s3:PutObject",
    required: true,
    after: ["CreateMultipartUpload"],
  },
  ListParts: {
    neededFor: "going on with an upload after a restart",
    action: "s3:ListMultipartUploadParts",
    required: true,
    after: ["UploadPart"],
  },
  CompleteMultipartUpload: {
    neededFor: "uploading large files in parts",
    action: "s3:PutObject",
    required: true,
    after: ["UploadPart"],
  },
  "CompleteMultipartUpload if-none-match": {
    neededFor: "a second fence against completing one key twice",
    action: "s3:PutObject",
    required: false,
    after: ["PutObject if-none-match", "CompleteMultipartUpload"],
  },
  AbortMultipartUpload: {
    neededFor: "removing the parts of an upload that was given up",
    action: "s3:AbortMultipartUpload",
    required: true,
    after: ["CreateMultipartUpload"],
  },
  ListMultipartUploads: {
    neededFor: "finding parts that a lost node left behind",
    action: "s3:ListBucketMultipartUploads",
    required: false,
    after: [],
  },
  DeleteObject: {
    neededFor: "removing old checkpoints, and this test's own objects",
    action: "s3:DeleteObject",
    required: false,
    after: ["PutObject"],
  },
  GetBucketCors: {
    neededFor: "moving files between a browser and the bucket",
    action: "s3:GetBucketCORS",
    required: false,
    after: [],
  },
  Clock: {
    neededFor: "signatures: a store refuses requests that are signed too far from its own time",
    action: "",
    required: false,
    after: [],
  },
};
