import { hash, randomBytes, randomUUID } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { GetBucketCorsCommand, type S3Client } from "@aws-sdk/client-s3";
import { Fault, isFault } from "#protocol/fault.ts";
import type { ProfileTestView } from "#protocol/views.ts";
import {
  checkRange,
  completeBody,
  readAbort,
  readComplete,
  readCreate,
  readHead,
  readListParts,
  readPart,
  readPut,
} from "./answers.ts";
import {
  check,
  expectFault,
  measureSkew,
  perform,
  type Bench,
  type CheckStoreInput,
  type Scratch,
} from "./check-bench.ts";
import { CHECKS } from "./check-list.ts";
import { crc32Hex } from "./crc32.ts";
import { faultOfSdk } from "./faults.ts";
import { listObjects, listUploads } from "./listing.ts";
import { deleteObject, putObjectText } from "./objects.ts";

/**
 * The profile test: does every operation the product needs, the way the product does it (bytes through signed requests,
 * control through the client), under a scratch prefix of its own, and cleans up whatever happens. Each operation gets a
 * line of its own, so a key that may do only some of them still shows which.
 */

const DEFAULT_TIMEOUT_MS = 60_000;
/** The smallest first part every store takes, and a last part that may be smaller. */
const FIRST_PART_BYTES = 5 * 1024 * 1024;
const LAST_PART_BYTES = 1000;
/** R2 and Spaces: one write a second and key. */
const WRITE_GAP_MS = 1100;
const MOST_WRITES = 3;
const WRONG_ETAG = '"00000000000000000000000000000000"';

/** Both sums: which of them goes along is the store's traits' to say. */
const sumsOf = (bytes: Uint8Array) => ({ crc32: crc32Hex(bytes), md5: hash("md5", bytes) });

async function checkListing(bench: Bench): Promise<void> {
  const { client, access, prefix } = bench;
  await check(bench, "ListObjectsV2", async () => {
    await listObjects(client, { bucket: access.bucket, prefix, pageSize: 10 }).next();
  });
}

async function checkSmallObject(bench: Bench): Promise<void> {
  const { small: key } = bench.scratch;
  const bytes = randomBytes(2048);
  const nonce = randomUUID();
  const put = await check(bench, "PutObject", async () => {
    bench.written.add(key);
    const operation = { op: "put", key, sizeBytes: bytes.length, ...sumsOf(bytes), nonce } as const;
    return readPut(await perform(bench, operation, bytes), key);
  });
  await check(bench, "HeadObject", async () => {
    const head = readHead(await perform(bench, { op: "head", key }), key);
    const detail = "size or nonce differ from what was written";
    if (head.sizeBytes !== bytes.length || head.nonce !== nonce) {
      throw new Fault("UNEXPECTED_ANSWER", { op: "HeadObject", subject: key, detail });
    }
  });
  const range = { offset: 100, length: 1000, etag: put?.etag ?? null };
  await check(bench, "GetObject", async () => {
    const answer = await perform(bench, { op: "get", key, ...range });
    checkRange(answer, { ...range, subject: key });
    if (!answer.body.equals(bytes.subarray(range.offset, range.offset + range.length))) {
      throw new Fault("CHECKSUM_MISMATCH", { op: "GetObject", subject: key });
    }
  });
  await check(bench, "GetObject if-match", async () => {
    const answer = await perform(bench, { op: "get", key, ...range, etag: WRONG_ETAG });
    await expectFault("OBJECT_CHANGED", () => checkRange(answer, range));
  });
}

/** Some stores take one write a second and key; a second write is what is meant here, so it waits for its turn. */
async function putPatiently(client: S3Client, object: Parameters<typeof putObjectText>[1]): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      await putObjectText(client, object);
      return;
    } catch (error) {
      if (!isFault(error) || error.code !== "THROTTLED" || tries >= MOST_WRITES) throw error;
      await setTimeout(error.context.retryAfterMs ?? WRITE_GAP_MS);
    }
  }
}

async function checkConditionalPut(bench: Bench): Promise<void> {
  const { client, access, scratch } = bench;
  const object = { bucket: access.bucket, key: scratch.once, text: "{}", ifNoneMatch: "*" } as const;
  await check(bench, "PutObject if-none-match", async () => {
    bench.written.add(scratch.once);
    await putObjectText(client, object);
    await expectFault("ALREADY_EXISTS", () => putPatiently(client, object));
  });
}

async function startUpload(bench: Bench, key: string, nonce: string): Promise<string> {
  bench.written.add(key);
  const { uploadId } = readCreate(await perform(bench, { op: "create", key, nonce }), key);
  bench.uploadsStarted.add(uploadId);
  return uploadId;
}

interface SentPart {
  partNumber: number;
  sizeBytes: number;
  etag: string;
  crc32: string;
}

async function checkMultipart(bench: Bench): Promise<void> {
  const { large: key } = bench.scratch;
  const bytes = randomBytes(FIRST_PART_BYTES + LAST_PART_BYTES);
  const nonce = randomUUID();
  const uploadId = (await check(bench, "CreateMultipartUpload", () => startUpload(bench, key, nonce))) ?? "";
  const pieces = [bytes.subarray(0, FIRST_PART_BYTES), bytes.subarray(FIRST_PART_BYTES)];
  const parts = await check(bench, "UploadPart", async () => {
    const sent: SentPart[] = [];
    for (const [index, piece] of pieces.entries()) {
      const part = { partNumber: index + 1, sizeBytes: piece.length, ...sumsOf(piece) };
      const answer = await perform(bench, { op: "part", key, uploadId, ...part }, piece);
      sent.push({ ...part, etag: readPart(answer, key).etag });
    }
    return sent;
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
    const body = completeBody(parts ?? [], bench.access.traits);
    readComplete(await perform(bench, { op: "complete", key, uploadId }, body), key);
    bench.uploadsStarted.delete(uploadId);
    const head = readHead(await perform(bench, { op: "head", key }), key);
    if (head.sizeBytes !== bytes.length || head.nonce !== nonce) {
      throw new Fault("SIZE_MISMATCH", { op: "CompleteMultipartUpload", subject: key });
    }
  });
}

async function checkAbort(bench: Bench): Promise<void> {
  const { dropped: key } = bench.scratch;
  await check(bench, "AbortMultipartUpload", async () => {
    const uploadId = await startUpload(bench, key, randomUUID());
    readAbort(await perform(bench, { op: "abort", key, uploadId }), key);
    bench.uploadsStarted.delete(uploadId);
  });
}

async function checkTheRest(bench: Bench): Promise<void> {
  const { client, access, scratch } = bench;
  const { bucket } = access;
  await check(bench, "ListMultipartUploads", async () => {
    await listUploads(client, { bucket, prefix: scratch.folder }).next();
  });
  await check(bench, "DeleteObject", () => deleteObject(client, { bucket, key: scratch.small }));
  await check(bench, "GetBucketCors", async () => {
    await client.send(new GetBucketCorsCommand({ Bucket: bucket })).catch((error: unknown) => {
      throw faultOfSdk(error, { op: "GetBucketCors", subject: bucket });
    });
  });
}

/** Removes everything this test may have left. What cannot be removed shows in the lines of the test itself. */
async function cleanUp(bench: Bench): Promise<void> {
  const { client, access, scratch } = bench;
  const { bucket } = access;
  if (bench.written.size === 0) return;
  const open: { key: string; uploadId: string }[] = [];
  try {
    for await (const { key, uploadId } of listUploads(client, { bucket, prefix: scratch.folder })) {
      open.push({ key, uploadId });
    }
  } catch {
    for (const uploadId of bench.uploadsStarted) open.push({ key: scratch.large, uploadId });
    for (const uploadId of bench.uploadsStarted) open.push({ key: scratch.dropped, uploadId });
  }
  const tasks = [
    ...open.map(async ({ key, uploadId }) => readAbort(await perform(bench, { op: "abort", key, uploadId }), key)),
    ...[...bench.written].map((key) => deleteObject(client, { bucket, key })),
  ];
  await Promise.allSettled(tasks);
}

/**
 * Runs every operation the product needs and says what the store answered to each. `ok` is true when all that uploading
 * and restoring needs works. Never throws.
 */
export async function checkStore(input: CheckStoreInput): Promise<ProfileTestView> {
  const folder = `${input.prefix}tidemark-check/${randomUUID()}/`;
  const scratch: Scratch = {
    folder,
    small: `${folder}small object+~é.bin`,
    once: `${folder}once.json`,
    large: `${folder}large.bin`,
    dropped: `${folder}dropped.bin`,
  };
  const bench: Bench = {
    ...input,
    now: input.now ?? Date.now,
    timeoutMs: input.timeoutMs ?? DEFAULT_TIMEOUT_MS,
    scratch,
    written: new Set(),
    uploadsStarted: new Set(),
    lines: new Map(),
    hopeless: false,
  };
  const at = bench.now();
  const clockSkewMs = await measureSkew(bench);
  try {
    await checkListing(bench);
    await checkSmallObject(bench);
    await checkConditionalPut(bench);
    await checkMultipart(bench);
    await checkAbort(bench);
    await checkTheRest(bench);
  } finally {
    await cleanUp(bench);
  }
  const checks = [...bench.lines.values()];
  const ok = [...bench.lines].every(([name, line]) => !CHECKS[name].required || line.outcome === "ok");
  return { at, ok, checks, clockSkewMs };
}
