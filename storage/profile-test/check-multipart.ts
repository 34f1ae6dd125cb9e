import { hash, randomBytes, randomUUID } from "node:crypto";
import {
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  UploadPartCommand,
  type S3Client,
} from "@aws-sdk/client-s3";
import { Fault } from "#protocol/faults/fault.ts";
import { completeBody, readAbort, readComplete, readCreate, readHead, readListParts, readPart } from "../s3/answers.ts";
import { check, expectFault, isOk, patiently, perform, type Bench } from "./check-bench.ts";
import { crc32Hex } from "../checksums/crc32.ts";
import { faultOfSdk } from "../answers/faults.ts";

/** The profile test's checks of multipart uploads. */

/** The smallest first part that every store accepts, and a last part that may be smaller. */
const FIRST_PART_BYTES = 5 * 1024 * 1024;
const LAST_PART_BYTES = 1000;

/** Returns both checksums; the store's traits decide which one is sent. */
export const sumsOf = (bytes: Uint8Array) => ({ crc32: crc32Hex(bytes), md5: hash("md5", bytes) });

async function startUpload(bench: Bench, key: string, nonce: string): Promise<string> {
  const { uploadId } = readCreate(await perform(bench, { op: "create", key, nonce }), key);
  bench.uploadsStarted.set(uploadId, key);
  return uploadId;
}

interface SentPart {
  partNumber: number;
  sizeBytes: number;
  etag: string;
  crc32: string;
}

/** Checks an upload of two parts: create, send, list, complete. */
export async function checkMultipart(bench: Bench): Promise<void> {
  const { large: key } = bench.scratch;
  const bytes = randomBytes(FIRST_PART_BYTES + LAST_PART_BYTES);
  const nonce = randomUUID();
  const uploadId = (await check(bench, "CreateMultipartUpload", () => startUpload(bench, key, nonce))) ?? "";
  // The small part goes first: a store that refuses a large body early may close the connection before its answer is
  // read.
  const pieces = [
    { partNumber: 2, piece: bytes.subarray(FIRST_PART_BYTES) },
    { partNumber: 1, piece: bytes.subarray(0, FIRST_PART_BYTES) },
  ];
  const parts = await check(bench, "UploadPart", async () => {
    const sent: SentPart[] = [];
    for (const { partNumber, piece } of pieces) {
      const part = { partNumber, sizeBytes: piece.length, ...sumsOf(piece) };
      const answer = await perform(bench, { op: "part", key, uploadId, ...part }, piece);
      sent.push({ ...part, etag: readPart(answer, key).etag });
    }
    return sent.toSorted((a, b) => a.partNumber - b.partNumber);
  });
  await check(bench, "ListParts", async () => {
    const page = readListParts(await perform(bench, { op: "parts", key, uploadId, after: 0 }), key);
    const told = page.parts.map(({ partNumber, sizeBytes, etag }) => `${partNumber} ${sizeBytes} ${etag}`);
    const known = parts?.map(({ partNumber, sizeBytes, etag }) => `${partNumber} ${sizeBytes} ${etag}`);
    if (told.join("\n") !== known?.join("\n")) {
      const detail = "the listed parts are not those that were sent";
      throw new Fault("UNEXPECTED_ANSWER", { op: "ListParts", subject: key, detail });
    }
  });
  await check(bench, "CompleteMultipartUpload", async () => {
    bench.written.add(key);
    const { traits } = bench.access;
    const body = completeBody(parts ?? [], { ...traits, checksum: bench.probe.checksum });
    readComplete(await perform(bench, { op: "complete", key, uploadId }, body), key);
    bench.uploadsStarted.delete(uploadId);
    // A missing HEAD permission has its own line, so it does not fail this check.
    if (!isOk(bench, "HeadObject")) return;
    const head = readHead(await perform(bench, { op: "head", key }), key);
    if (head.sizeBytes !== bytes.length || head.nonce !== nonce) {
      throw new Fault("SIZE_MISMATCH", { op: "CompleteMultipartUpload", subject: key });
    }
  });
}

/** Uploads one small part with the control client and completes it with If-None-Match `*`. */
async function uploadOnce(bench: Bench, client: S3Client, key: string): Promise<void> {
  const at = { Bucket: bench.access.bucket, Key: key };
  try {
    const { UploadId } = await client.send(new CreateMultipartUploadCommand(at));
    if (UploadId === undefined) throw new Fault("UNEXPECTED_ANSWER", { op: "CreateMultipartUpload", subject: key });
    bench.uploadsStarted.set(UploadId, key);
    const part = { ...at, UploadId, PartNumber: 1 };
    const { ETag } = await client.send(new UploadPartCommand({ ...part, Body: randomBytes(LAST_PART_BYTES) }));
    const MultipartUpload = { Parts: [{ ETag, PartNumber: 1 }] };
    bench.written.add(key);
    await client.send(new CompleteMultipartUploadCommand({ ...at, UploadId, MultipartUpload, IfNoneMatch: "*" }));
    bench.uploadsStarted.delete(UploadId);
  } catch (error) {
    throw faultOfSdk(error, { op: "CompleteMultipartUpload", subject: key });
  }
}

/** Checks conditional completion separately: a store may honor the condition on PutObject and ignore it here. */
export async function checkConditionalComplete(bench: Bench): Promise<void> {
  const { onceLarge: key } = bench.scratch;
  await check(bench, "CompleteMultipartUpload if-none-match", async () => {
    await uploadOnce(bench, bench.client, key);
    await expectFault("ALREADY_EXISTS", () => patiently(() => uploadOnce(bench, bench.client, key)));
  });
}

export async function checkAbort(bench: Bench): Promise<void> {
  const { dropped: key } = bench.scratch;
  await check(bench, "AbortMultipartUpload", async () => {
    const uploadId = await startUpload(bench, key, randomUUID());
    readAbort(await perform(bench, { op: "abort", key, uploadId }), key);
    bench.uploadsStarted.delete(uploadId);
  });
}
