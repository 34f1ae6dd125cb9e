import { hash } from "node:crypto";
import { s3Error, serveCanned, type Canned, type CannedServer, type Seen } from "./canned-server.ts";

/**
 * For tests: a strict in-memory store with the S3 operations of the profile test. Requests are classified by S3 operation
 * names, so that a test can refuse or break single operations.
 */

export interface SmallStore extends CannedServer {
  objects: Map<string, { body: Buffer; etag: string; nonce: string }>;
  uploads: Map<string, { key: string; nonce: string; parts: Map<number, Buffer> }>;
}

/** Returns the S3 operation name of a request. */
export function operationOf({ method, path, query }: Seen): string {
  const onBucket = path.split("/").filter((segment) => segment !== "").length < 2;
  if (onBucket) {
    if (query.has("uploads")) return "ListMultipartUploads";
    return query.has("cors") ? "GetBucketCors" : "ListObjectsV2";
  }
  if (method === "POST") return query.has("uploads") ? "CreateMultipartUpload" : "CompleteMultipartUpload";
  if (method === "DELETE") return query.has("uploadId") ? "AbortMultipartUpload" : "DeleteObject";
  if (method === "PUT") return query.has("uploadId") ? "UploadPart" : "PutObject";
  if (method === "HEAD") return "HeadObject";
  return query.has("uploadId") ? "ListParts" : "GetObject";
}

const etagOf = (body: Buffer): string => `"${hash("md5", body)}"`;
const document = (root: string, inner: string): Canned => ({
  headers: { "content-type": "application/xml" },
  body: `<?xml version="1.0" encoding="UTF-8"?><${root}>${inner}</${root}>`,
});

/** Starts a store. `override` may answer a request in the store's place; `now` is its clock. */
export async function serveSmallStore(
  override: (op: string, seen: Seen) => Canned | null,
  now: () => number = Date.now,
): Promise<SmallStore> {
  const objects: SmallStore["objects"] = new Map();
  const uploads: SmallStore["uploads"] = new Map();

  function onObject(op: string, { headers, body }: Seen, key: string): Canned {
    const object = objects.get(key);
    if (op === "PutObject") {
      if (headers["if-none-match"] === "*" && object !== undefined) return s3Error(412, "PreconditionFailed");
      objects.set(key, { body, etag: etagOf(body), nonce: String(headers["x-amz-meta-tidemark-nonce"]) });
      return { headers: { etag: etagOf(body) } };
    }
    if (op === "DeleteObject") {
      objects.delete(key);
      return { status: 204 };
    }
    if (object === undefined) return s3Error(404, "NoSuchKey");
    const told = { etag: object.etag, "x-amz-meta-tidemark-nonce": object.nonce };
    if (op === "HeadObject") return { headers: { ...told, "content-length": object.body.length } };
    if (headers["if-match"] !== undefined && headers["if-match"] !== object.etag) {
      return s3Error(412, "PreconditionFailed");
    }
    const [first = 0, last = 0] =
      /bytes=(\d+)-(\d+)/
        .exec(headers.range ?? "")
        ?.slice(1)
        .map(Number) ?? [];
    const range = { "content-range": `bytes ${first}-${last}/${object.body.length}` };
    return { status: 206, headers: { ...told, ...range }, body: object.body.subarray(first, last + 1) };
  }

  function onUpload(op: string, { headers, query, body }: Seen, key: string): Canned {
    const uploadId = query.get("uploadId") ?? "";
    if (op === "CreateMultipartUpload") {
      const id = `upload+/${uploads.size + 1}`;
      uploads.set(id, { key, nonce: String(headers["x-amz-meta-tidemark-nonce"]), parts: new Map() });
      return document("InitiateMultipartUploadResult", `<UploadId>${id}</UploadId>`);
    }
    const upload = uploads.get(uploadId);
    if (upload === undefined || upload.key !== key) return s3Error(404, "NoSuchUpload");
    if (op === "UploadPart") {
      upload.parts.set(Number(query.get("partNumber")), body);
      return { headers: { etag: etagOf(body) } };
    }
    if (op === "AbortMultipartUpload") {
      uploads.delete(uploadId);
      return { status: 204 };
    }
    const parts = [...upload.parts].sort(([a], [b]) => a - b);
    if (op === "ListParts") {
      const listed = parts.map(
        ([number, part]) =>
          `<Part><PartNumber>${number}</PartNumber><ETag>${etagOf(part)}</ETag><Size>${part.length}</Size></Part>`,
      );
      const inner = `<UploadId>${uploadId}</UploadId><IsTruncated>false</IsTruncated>${listed.join("")}`;
      return document("ListPartsResult", inner);
    }
    if (headers["if-none-match"] === "*" && objects.has(key)) return s3Error(412, "PreconditionFailed");
    const whole = Buffer.concat(parts.map(([, part]) => part));
    objects.set(key, { body: whole, etag: `"whole-${parts.length}"`, nonce: upload.nonce });
    uploads.delete(uploadId);
    return document("CompleteMultipartUploadResult", `<Key>k</Key><ETag>"whole-${parts.length}"</ETag>`);
  }

  function onBucket(op: string, { query }: Seen): Canned {
    if (op === "GetBucketCors") return s3Error(404, "NoSuchCORSConfiguration");
    const prefix = query.get("prefix") ?? "";
    const stay = "<IsTruncated>false</IsTruncated>";
    if (op === "ListObjectsV2") return document("ListBucketResult", stay);
    const open = [...uploads].filter(([, { key }]) => key.startsWith(prefix));
    const listed = open.map(([id, { key }]) => `<Upload><Key>${key}</Key><UploadId>${id}</UploadId></Upload>`);
    return document("ListMultipartUploadsResult", stay + listed.join(""));
  }

  const server = await serveCanned((seen) => {
    const answer = answerTo(seen);
    return { ...answer, headers: { date: new Date(now()).toUTCString(), ...answer.headers } };
  });

  function answerTo(seen: Seen): Canned {
    const op = operationOf(seen);
    const instead = override(op, seen);
    if (instead !== null) return instead;
    const key = decodeURIComponent(seen.path).split("/").slice(2).join("/");
    if (key === "") return onBucket(op, seen);
    const onWhole = op === "PutObject" || op === "DeleteObject" || op === "HeadObject" || op === "GetObject";
    return onWhole ? onObject(op, seen, key) : onUpload(op, seen, key);
  }
  return Object.assign(server, { objects, uploads });
}
