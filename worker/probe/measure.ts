import { randomBytes } from "node:crypto";
import { Fault, isFault } from "#protocol/faults/fault.ts";
import type { Operation } from "#protocol/wire/operations.ts";
import { readCreate, readDelete, readPart, readPut, type HttpAnswer } from "#storage/s3/answers.ts";
import { checkRange } from "#storage/answers/check-range.ts";
import { faultOfAnswer } from "#storage/answers/faults.ts";
import { callSummed } from "../transfer/store-session/call-summed.ts";
import { callStore, warmUp, type Call, type Engine } from "../transfer/engine.ts";
import type { UploadBody } from "../transfer/http/http-client.ts";
import { abandonUpload } from "../transfer/upload/send.ts";
import { runBox, within, type LinkRate } from "./box.ts";
import { createPayload, type Payload } from "./payload.ts";
import { readUnacknowledged } from "./unacknowledged.ts";

/**
 * Measures a link as transfers use it: with the same engine, store and kind of requests. Up: generated parts of a multipart
 * upload, until the time box ends; then the upload is aborted. Down: an object of about the size that goes up in half a
 * second, fetched repeatedly. Nothing stays in the bucket, even after cancellation.
 */
export interface Measuring {
  key: string;
  boxMs: number;
  signal: AbortSignal;
  /** Called with the Date header of the answer to a short request, and the times of request and answer (epoch ms). */
  onAnswer(seen: { sentAtMs: number; receivedAtMs: number; date: string | undefined }): void;
}

const MIB = 1024 * 1024;
/** Timeout of a request that is not part of the measurement. */
const ANSWER_MS = 4_000;
const CLEAN_UP_MS = 3_000;
const PART_BYTES = 8 * MIB;
/** Upload time for which the object is sized. It goes up on one connection, which an early packet loss slows for seconds. */
const OBJECT_MS = 500;
const LEAST_OBJECT_BYTES = 256 * 1024;
const MOST_OBJECT_BYTES = 16 * MIB;
/**
 * A connection gets chunks of the bytes that it sends in this time, because progress within a chunk is unknown. The rate is that
 * of acknowledged bytes, because the kernel's buffers first accept far more than is sent.
 */
const CHUNK_MS = 100;
const LEAST_CHUNK_BYTES = 8 * 1024;

/** Measures the upload rate. @throws Faults of the store, STALLED, CANCELLED */
export async function measureUp(engine: Engine, about: Measuring): Promise<LinkRate> {
  const { key, boxMs, signal } = about;
  const { minPartBytes, maxPartBytes, maxParts } = engine.traits;
  const payload = createPayload(Math.min(maxPartBytes, Math.max(minPartBytes, PART_BYTES)));
  const lanes = engine.traits.mostConnections;
  await warmUp(engine, { op: "head", key }, { count: lanes, size: "large" });
  const uploadId = await begin(engine, about);
  const arrived = createArrived(engine);
  let parts = 0;
  const nextPart = () => (parts++ % maxParts) + 1;
  try {
    return await runBox(engine, {
      boxMs,
      signal,
      movedBytes: arrived.read,
      work: (ending) =>
        sendPart(engine, { payload, key, uploadId, number: nextPart(), signal: ending, rate: arrived.perConnection }),
    });
  } finally {
    await cleanUp((ending) => abandonUpload(engine, { key, uploadId, signal: ending }));
  }
}

/** Counts the bytes that the other end has acknowledged, and their rate. */
function createArrived(engine: Engine) {
  const { clock } = engine.retrier;
  const startedAt = clock.now();
  let bytes = 0;
  return {
    read: () => {
      bytes = engine.meter.totalBytes - (readUnacknowledged() ?? 0);
      return bytes;
    },
    /** Returns bytes per second and connection, as of the last reading. */
    perConnection: () =>
      (Math.max(0, bytes) * 1000) / Math.max(1, clock.now() - startedAt) / Math.max(1, engine.semaphore.held),
  };
}

async function begin(engine: Engine, about: Measuring): Promise<string> {
  const { key } = about;
  const nonce = randomBytes(16).toString("hex");
  const limit = within(about.signal, ANSWER_MS, key);
  const sentAtMs = Date.now();
  try {
    return await callSummed(
      engine,
      (checksum) => ({ operation: { op: "create", key, nonce, checksum }, signal: limit.signal }),
      ({ answer, subject }) => {
        tellTime(about, { answer, sentAtMs });
        return readCreate(answer, subject).uploadId;
      },
    );
  } finally {
    limit.clear();
  }
}

const tellTime = (about: Measuring, { answer, sentAtMs }: { answer: HttpAnswer; sentAtMs: number }): void =>
  about.onAnswer({ sentAtMs, receivedAtMs: Date.now(), date: answer.headers["date"] });

interface PartToMake {
  payload: Payload;
  key: string;
  uploadId: string;
  number: number;
  signal: AbortSignal;
  /** Returns the rate of one connection, bytes per second. */
  rate(): number;
}

async function sendPart(engine: Engine, part: PartToMake): Promise<void> {
  const { payload, key, uploadId, number, signal } = part;
  await callSummed(
    engine,
    (checksum): Call => {
      const sums = payload.sums(number, checksum);
      const sizeBytes = payload.partBytes;
      const operation: Operation = { op: "part", key, uploadId, partNumber: number, sizeBytes, ...sums, checksum };
      return { operation, signal, body: bodyOf(engine, part) };
    },
    ({ answer, subject }) => readPart(answer, subject),
  );
}

function bodyOf(engine: Engine, { payload, number, rate }: PartToMake): UploadBody {
  return {
    lengthBytes: payload.partBytes,
    bytesPerSecond: rate,
    read: (into, at) => {
      const chunkBytes = Math.max(LEAST_CHUNK_BYTES, Math.round((rate() * CHUNK_MS) / 1000));
      const chunk = into.subarray(0, Math.min(chunkBytes, payload.partBytes - at));
      payload.fill(number, chunk, at);
      return chunk.length;
    },
    sent: (bytes) => {
      if (bytes > 0) engine.meter.add(bytes);
    },
  };
}

/** Measures the download rate. `upBytesPerSecond`: null when unknown. @throws Faults of the store, STALLED, CANCELLED */
export async function measureDown(
  engines: { up: Engine; down: Engine },
  about: Measuring & { upBytesPerSecond: number | null },
): Promise<LinkRate> {
  const { up, down } = engines;
  const { key, boxMs, signal } = about;
  const requested = ((about.upBytesPerSecond ?? 0) * OBJECT_MS) / 1000;
  const most = Math.round(Math.min(MOST_OBJECT_BYTES, Math.max(LEAST_OBJECT_BYTES, requested)));
  try {
    const length = await putInTime(up, about, most);
    const operation: Extract<Operation, { op: "get" }> = { op: "get", key, offset: 0, length, etag: null };
    await warmUp(down, operation, { count: down.traits.mostConnections, size: "large" });
    // All downloads share one presigned URL.
    await down.signatures.prepare([operation]);
    return await runBox(down, {
      boxMs,
      signal,
      movedBytes: () => down.meter.totalBytes,
      work: (ending) => fetchObject(down, operation, ending),
    });
  } finally {
    await cleanUp((ending) => callStore(up, { operation: { op: "delete", key }, signal: ending }, readDelete));
  }
}

/** Puts an object and returns its length. If it does not arrive in time, the smallest object is put instead. */
async function putInTime(engine: Engine, about: Measuring, length: number): Promise<number> {
  try {
    await put(engine, about, length);
    return length;
  } catch (error) {
    if (!isFault(error) || error.code !== "STALLED" || length === LEAST_OBJECT_BYTES) throw error;
  }
  try {
    await put(engine, about, LEAST_OBJECT_BYTES);
    return LEAST_OBJECT_BYTES;
  } catch (error) {
    // The first object had arrived; only its answer was late.
    if (isFault(error) && error.code === "ALREADY_EXISTS") return length;
    throw error;
  }
}

async function put(engine: Engine, about: Measuring, length: number): Promise<void> {
  const { key } = about;
  const bytes = Buffer.allocUnsafe(length);
  const payload = createPayload(length);
  payload.fill(1, bytes, 0);
  const nonce = randomBytes(16).toString("hex");
  const limit = within(about.signal, ANSWER_MS, key);
  try {
    await callSummed(
      engine,
      (checksum): Call => ({
        operation: { op: "put", key, sizeBytes: length, nonce, checksum, ...payload.sums(1, checksum) },
        signal: limit.signal,
        body: bytes,
      }),
      ({ answer, subject }) => readPut(answer, subject),
    );
  } finally {
    limit.clear();
  }
}

async function fetchObject(
  engine: Engine,
  operation: Extract<Operation, { op: "get" }>,
  signal: AbortSignal,
): Promise<void> {
  const { key: subject, offset, length } = operation;
  let received = 0;
  const sink = {
    head: (answer: HttpAnswer) => checkRange(answer, { offset, length, subject }),
    bytes: (chunk: Buffer) => {
      received += chunk.length;
      engine.meter.add(chunk.length);
    },
  };
  await callStore(engine, { operation, signal, sink }, (answer) => {
    if (answer.status < 200 || answer.status > 299) throw faultOfAnswer({ op: "GetObject", subject, answer });
  });
  if (received < length) throw new Fault("TRUNCATED", { op: "GetObject", subject });
}

/** Removes what the measurement created, however it ended. A failure only wastes a little space. */
async function cleanUp(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const signal = AbortSignal.timeout(CLEAN_UP_MS);
  for (let tries = 0; tries < 2 && !signal.aborted; tries++) {
    try {
      await work(signal);
      return;
    } catch (error) {
      if (isFault(error) && error.retry === "never") return;
    }
  }
}
