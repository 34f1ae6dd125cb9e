import {
  AbortMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListPartsCommand,
  PutObjectCommand,
  type S3Client,
} from "@aws-sdk/client-s3";
import { Fault } from "#protocol/faults/fault.ts";
import { checkRange, quoteEtag } from "../answers/check-range.ts";
import { faultOfSdk } from "../answers/faults.ts";
import { NONCE_METADATA } from "../signing/signing.ts";

/** Reads and writes small objects (manifests, claims) in one piece. Every error is a Fault that names the key. */

interface At {
  bucket: string;
  key: string;
}

const isByteStream = (value: unknown): value is AsyncIterable<Uint8Array> =>
  typeof value === "object" && value !== null && Symbol.asyncIterator in value;

/**
 * Returns the text of an object and its ETag.
 * @throws Fault TOO_LARGE above `maxBytes`, TRUNCATED on fewer bytes than announced, BAD_INPUT when it is not UTF-8
 */
export async function getObjectText(
  client: S3Client,
  { bucket, key, maxBytes }: At & { maxBytes: number },
): Promise<{ text: string; etag: string }> {
  const op = "GetObject";
  try {
    const answer = await client.send(new GetObjectCommand({ Bucket: bucket, Key: key }));
    const { Body: body, ETag: etag, ContentLength: announced } = answer;
    if (!isByteStream(body) || etag === undefined) throw new Fault("UNEXPECTED_ANSWER", { op, subject: key });
    const chunks: Uint8Array[] = [];
    let total = 0;
    for await (const chunk of body) {
      total += chunk.byteLength;
      // Leaving the loop closes the connection, so the rest is not read.
      if (total > maxBytes) throw new Fault("TOO_LARGE", { op, subject: key, detail: `more than ${maxBytes} bytes` });
      chunks.push(chunk);
    }
    if (announced !== undefined && announced !== total) throw new Fault("TRUNCATED", { op, subject: key });
    return { text: decodeUtf8(Buffer.concat(chunks), key), etag: quoteEtag(etag) };
  } catch (error) {
    throw withSubject(faultOfSdk(error, { op, subject: key }), key);
  }
}

/**
 * Returns `length` bytes of an object at `offset`; with `etag`, only of that version.
 * @throws Fault OBJECT_CHANGED, SIZE_MISMATCH when the object is shorter, RANGE_IGNORED, TRUNCATED, CANCELLED, those of
 * the store
 */
export async function getObjectRange(
  client: S3Client,
  input: At & { offset: number; length: number; etag: string | null; signal: AbortSignal },
): Promise<Uint8Array> {
  const { bucket, key, offset, length, etag, signal } = input;
  const op = "GetObject";
  try {
    const range = `bytes=${offset}-${offset + length - 1}`;
    const command = new GetObjectCommand({
      Bucket: bucket,
      Key: key,
      Range: range,
      ...(etag === null ? {} : { IfMatch: etag }),
    });
    const answer = await client.send(command, { abortSignal: signal });
    const { Body: body, ETag: seen, ContentRange: contentRange, ContentEncoding: encoding } = answer;
    const { ContentLength: announced } = answer;
    const headers = {
      "content-range": contentRange,
      "content-length": announced === undefined ? undefined : String(announced),
      "content-encoding": encoding,
      etag: seen,
    };
    if (!isByteStream(body)) throw new Fault("UNEXPECTED_ANSWER", { op, subject: key });
    try {
      checkRange({ status: answer.$metadata.httpStatusCode ?? 0, headers }, { offset, length, etag, subject: key });
    } catch (error) {
      // Leaving the loop at once closes the connection, so an unrequested whole object is not read.
      for await (const _ of body) break;
      throw error;
    }
    const bytes = new Uint8Array(length);
    let total = 0;
    for await (const chunk of body) {
      if (total + chunk.byteLength > length)
        throw new Fault("UNEXPECTED_ANSWER", { op, subject: key, detail: "more bytes than asked for" });
      bytes.set(chunk, total);
      total += chunk.byteLength;
    }
    if (total !== length) throw new Fault("TRUNCATED", { op, subject: key });
    return bytes;
  } catch (error) {
    if (signal.aborted) throw new Fault("CANCELLED", { op, subject: key });
    throw withSubject(faultOfSdk(error, { op, subject: key }), key);
  }
}

function decodeUtf8(bytes: Uint8Array, key: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new Fault("BAD_INPUT", { op: "GetObject", subject: key, detail: "the object is not UTF-8 text" });
  }
}

/** Adds the key to Faults of the guard, which knows the operation only. */
function withSubject(fault: Fault, key: string): Fault {
  return fault.context.subject === undefined ? new Fault(fault.code, { ...fault.context, subject: key }) : fault;
}

/**
 * Writes a small text object in one PUT.
 * @throws Fault ALREADY_EXISTS when `ifNoneMatch` is given and the key exists
 */
export async function putObjectText(
  client: S3Client,
  input: At & { text: string; contentType?: string; ifNoneMatch?: "*" },
): Promise<{ etag: string }> {
  const { bucket, key, text, contentType = "application/json", ifNoneMatch } = input;
  const op = "PutObject";
  try {
    const answer = await client.send(
      new PutObjectCommand({
        Bucket: bucket,
        Key: key,
        Body: Buffer.from(text),
        ContentType: contentType,
        IfNoneMatch: ifNoneMatch,
      }),
    );
    if (answer.ETag === undefined) throw new Fault("UNEXPECTED_ANSWER", { op, detail: "no ETag in the answer" });
    return { etag: quoteEtag(answer.ETag) };
  } catch (error) {
    throw withSubject(faultOfSdk(error, { op, subject: key }), key);
  }
}

/** Returns size, ETag, date and the upload's nonce. */
export async function headObject(
  client: S3Client,
  { bucket, key }: At,
): Promise<{ sizeBytes: number; etag: string; nonce: string | null; modifiedAt: number | null }> {
  const op = "HeadObject";
  try {
    const answer = await client.send(new HeadObjectCommand({ Bucket: bucket, Key: key }));
    const { ContentLength: sizeBytes, ETag: etag, Metadata: metadata, LastModified: modified } = answer;
    if (sizeBytes === undefined || etag === undefined) {
      throw new Fault("UNEXPECTED_ANSWER", { op, detail: "no size or no ETag in the answer" });
    }
    const nonce = metadata?.[NONCE_METADATA] ?? null;
    return { sizeBytes, etag: quoteEtag(etag), nonce, modifiedAt: modified?.getTime() ?? null };
  } catch (error) {
    throw withSubject(faultOfSdk(error, { op, subject: key }), key);
  }
}

/** Deletes an object. A missing one counts as deleted. */
export async function deleteObject(client: S3Client, { bucket, key }: At): Promise<void> {
  const op = "DeleteObject";
  try {
    await client.send(new DeleteObjectCommand({ Bucket: bucket, Key: key }));
  } catch (error) {
    const fault = withSubject(faultOfSdk(error, { op, subject: key }), key);
    if (fault.code !== "NO_SUCH_KEY") throw fault;
  }
}

/** Aborts a multipart upload. A missing one is reported as `gone`. */
export async function abortUpload(
  client: S3Client,
  { bucket, key, uploadId }: At & { uploadId: string },
): Promise<"aborted" | "gone"> {
  const op = "AbortMultipartUpload";
  try {
    await client.send(new AbortMultipartUploadCommand({ Bucket: bucket, Key: key, UploadId: uploadId }));
    return "aborted";
  } catch (error) {
    const fault = withSubject(faultOfSdk(error, { op, subject: key }), key);
    if (fault.code !== "NO_SUCH_UPLOAD" && fault.code !== "NO_SUCH_KEY") throw fault;
    return "gone";
  }
}

/** Returns the bytes of the parts uploaded so far; 0 when the upload is gone. */
export async function uploadedBytes(
  client: S3Client,
  { bucket, key, uploadId }: At & { uploadId: string },
): Promise<number> {
  const op = "ListParts";
  let bytes = 0;
  let marker: string | undefined;
  try {
    do {
      const page = await client.send(
        new ListPartsCommand({ Bucket: bucket, Key: key, UploadId: uploadId, PartNumberMarker: marker }),
      );
      for (const part of page.Parts ?? []) bytes += part.Size ?? 0;
      const next = page.IsTruncated === true ? page.NextPartNumberMarker : undefined;
      if (next !== undefined && next === marker) throw new Fault("UNEXPECTED_ANSWER", { op, subject: key });
      marker = next;
    } while (marker !== undefined);
    return bytes;
  } catch (error) {
    const fault = withSubject(faultOfSdk(error, { op, subject: key }), key);
    if (fault.code === "NO_SUCH_UPLOAD" || fault.code === "NO_SUCH_KEY") return 0;
    throw fault;
  }
}
