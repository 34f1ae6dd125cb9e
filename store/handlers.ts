/** Maps operations to their handlers. */
import {
  createNewBucket,
  deleteBucket,
  deleteBucketCors,
  getBucketCors,
  getBucketLocation,
  getBucketVersioning,
  headBucket,
  listAllBuckets,
  putBucketCors,
  putBucketVersioning,
} from "./bucket.ts";
import type { Handler } from "./call.ts";
import { listMultipartUploads, listObjectsV1, listObjectsV2 } from "./listing.ts";
import { listObjectVersions } from "./list-versions.ts";
import {
  abortMultipartUpload,
  completeMultipartUpload,
  createMultipartUpload,
  listUploadParts,
  uploadPart,
  uploadPartCopy,
} from "./multipart.ts";
import { getObjectAttributes } from "./object-attributes.ts";
import { getObject, headObject } from "./read-object.ts";
import type { Operation } from "./route.ts";
import { S3Error } from "./s3-error.ts";
import { copyObject, deleteManyObjects, deleteObject, putWholeObject } from "./write-object.ts";

function notImplemented(): never {
  throw new S3Error("NotImplemented", "This store does not implement the requested operation.");
}

/** The handler of every operation. */
export const HANDLERS: Readonly<Record<Operation, Handler>> = {
  ListBuckets: listAllBuckets,
  CreateBucket: createNewBucket,
  HeadBucket: headBucket,
  DeleteBucket: deleteBucket,
  GetBucketLocation: getBucketLocation,
  GetBucketVersioning: getBucketVersioning,
  PutBucketVersioning: putBucketVersioning,
  GetBucketCors: getBucketCors,
  PutBucketCors: putBucketCors,
  DeleteBucketCors: deleteBucketCors,
  ListObjects: listObjectsV1,
  ListObjectsV2: listObjectsV2,
  ListObjectVersions: listObjectVersions,
  ListMultipartUploads: listMultipartUploads,
  DeleteObjects: deleteManyObjects,
  PutObject: putWholeObject,
  CopyObject: copyObject,
  GetObject: getObject,
  GetObjectAttributes: getObjectAttributes,
  HeadObject: headObject,
  DeleteObject: deleteObject,
  CreateMultipartUpload: createMultipartUpload,
  UploadPart: uploadPart,
  UploadPartCopy: uploadPartCopy,
  CompleteMultipartUpload: completeMultipartUpload,
  AbortMultipartUpload: abortMultipartUpload,
  ListParts: listUploadParts,
  Preflight: notImplemented,
  Unknown: notImplemented,
};
