import { open, type FileHandle } from "node:fs/promises";
import type { Extent } from "#protocol/checkpoint.ts";
import { Fault, isFault, type FaultCode } from "#protocol/fault.ts";
import type { Operation } from "#protocol/operations.ts";
import {
  completeBody,
  readAbort,
  readComplete,
  readCreate,
  readHead,
  readListParts,
  readPart,
  readPut,
} from "#storage/answers.ts";
import type { PartPlan, PlannedPart } from "#storage/plan.ts";
import { diskFault } from "./disk-fault.ts";
import { callStore, warmUp, type Engine } from "./engine.ts";
import { forEachOf, MOST_LANES } from "./for-each.ts";
import { assertUnchanged, type FileIdentity } from "./identity.ts";
import type { Lane } from "./limiter.ts";
import { checksumSlice, createPartReader, type PartSlice } from "./read-part.ts";
import type { PartState } from "./tally.ts";
import { withRetry, type Attempting, type Patience } from "./retry.ts";
import type { UploadBody } from "./http/wire.ts";

/**
 * One file to one object. A part that the store acknowledged is remembered before anything else happens, so a killed
 * process goes on with the same upload id at the first missing part. An object counts as sent only when HEAD shows it
 * with the right size and our own nonce, whatever the answers before said.
 */
export interface SendJob {
  path: string;
  key: string;
  identity: FileIdentity;
  plan: PartPlan;
  nonce: string;
  /** CRC32 of a part where it is known already. */
  knownCrc: (part: PlannedPart) => string | null;
  memory: SendMemory;
  watch: SendWatch;
}

/** What survives a kill; each method resolves when it is on disk. */
export interface SendMemory {
  uploadId: string | null;
  /** The upload was begun in this life of the process, so the store knows no part that is not in `parts`. */
  isFresh: boolean;
  parts: ReadonlyMap<number, SentPart>;
  /** A new upload: parts of an earlier one count no more. */
  begin(uploadId: string): Promise<void>;
  acknowledge(partNumber: number, part: SentPart): Promise<void>;
  /** ETag of the object once it was verified: nothing is left to do. */
  sentEtag: string | null;
  finish(etag: string): Promise<void>;
}

export interface SentPart {
  etag: string;
  crc32: string;
}

interface SendWatch {
  signal: AbortSignal;
  patience: Patience;
  /** Bytes that were on their way (negative: a part failed and they have to go again). */
  onMoved(bytes: number): void;
  onPart(part: PlannedPart, state: PartState): void;
  onRetry(fault: Fault): void;
}

/** How often a file may start over with a new upload id. */
const MOST_UPLOADS = 3;
/** A Complete that ended in one of these may have happened all the same. */
const IN_DOUBT: ReadonlySet<FaultCode> = new Set(["NO_SUCH_UPLOAD", "ALREADY_EXISTS", "NO_SUCH_KEY"]);

/**
 * Sends a file; returns its extents, in order. An empty file needs no object and has none.
 * Faults: SOURCE_CHANGED, READ_FAILED, those of the store, CANCELLED.
 */
export async function sendFile(engine: Engine, job: SendJob): Promise<Extent[]> {
  if (job.plan.parts.length === 0) return [];
  for (const part of job.plan.parts) if (job.memory.parts.has(part.partNumber)) job.watch.onPart(part, "kept");
  if (job.memory.sentEtag !== null) return extentsOf(job, job.memory.sentEtag);
  const handle = await openSource(job);
  try {
    const whole = job.plan.parts.length === 1;
    const etag = whole ? await sendWhole(engine, job, handle) : await sendParts(engine, job, handle);
    await assertUnchanged(handle, job.identity, job.path);
    await job.memory.finish(etag);
    engine.signatures.forget({ op: "head", key: job.key });
    return extentsOf(job, etag);
  } finally {
    await handle.close();
  }
}

function extentsOf(job: SendJob, etag: string): Extent[] {
  return job.plan.parts.map((part) => {
    const sent = job.memory.parts.get(part.partNumber);
    if (sent === undefined)
      throw new Fault("INTERNAL", { op: "send", subject: job.key, detail: "a part was not remembered" });
    return { key: job.key, offset: part.offset, length: part.length, crc32: sent.crc32, etag };
  });
}

async function openSource(job: SendJob): Promise<FileHandle> {
  try {
    const handle = await open(job.path, "r");
    try {
      await assertUnchanged(handle, job.identity, job.path);
      return handle;
    } catch (error) {
      await handle.close();
      throw error;
    }
  } catch (error) {
    throw diskFault(error, { op: "read", subject: job.path, otherwise: "READ_FAILED" });
  }
}

async function sendWhole(engine: Engine, job: SendJob, handle: FileHandle): Promise<string> {
  const part = job.plan.parts[0];
  if (part === undefined) throw new Fault("INTERNAL", { op: "send", subject: job.key });
  const known = job.memory.parts.get(part.partNumber);
  if (known !== undefined) {
    const etag = await lookForOurs(engine, job);
    if (etag !== null) return etag;
    job.watch.onPart(part, "waiting");
  }
  await sendPart(engine, job, { part, handle, sums: new Map() });
  return verify(engine, job);
}

async function sendParts(engine: Engine, job: SendJob, handle: FileHandle): Promise<string> {
  for (let uploads = 1; ; uploads++) {
    try {
      await openAhead(engine, job);
      const [sums] = await Promise.all([sumAhead(engine, job, handle), ensureUpload(engine, job)]);
      const missing = job.plan.parts.filter((part) => !job.memory.parts.has(part.partNumber));
      await forEachOf(missing, MOST_LANES, (part) => sendPart(engine, job, { part, handle, sums }));
      await assertUnchanged(handle, job.identity, job.path);
      return await complete(engine, job);
    } catch (error) {
      if (!isFault(error) || error.code !== "NO_SUCH_UPLOAD" || uploads >= MOST_UPLOADS) throw error;
      // The Complete may have been done by an earlier life of this process, or by a request whose answer was lost.
      const etag = await lookForOurs(engine, job);
      if (etag !== null) return etag;
      await beginUpload(engine, job);
    }
  }
}

/** Connections for the parts open while the store is still thinking about Create. */
async function openAhead(engine: Engine, job: SendJob): Promise<void> {
  const missing = job.plan.parts.length - job.memory.parts.size;
  await warmUp(engine, { op: "head", key: job.key }, missing);
}

/** The sums of the parts that go first, for the same reason. What cannot be read shows when the part is sent. */
async function sumAhead(engine: Engine, job: SendJob, handle: FileHandle): Promise<Map<number, string>> {
  const sums = new Map<number, string>();
  const first = job.plan.parts.filter((part) => !job.memory.parts.has(part.partNumber)).slice(0, engine.gate.width);
  for (const part of first) {
    if (job.knownCrc(part) !== null) continue;
    const { partNumber, offset, length } = part;
    const crc32 = await checksumSlice({ fd: handle.fd, path: job.path, offset, length }).catch(() => null);
    if (crc32 !== null) sums.set(partNumber, crc32);
  }
  return sums;
}

const attempting = (job: SendJob): Attempting => ({
  signal: job.watch.signal,
  patience: job.watch.patience,
  onRetry: job.watch.onRetry,
});

/** Starts a new multipart upload and remembers it. */
export async function beginUpload(engine: Engine, job: SendJob): Promise<void> {
  const operation: Operation = { op: "create", key: job.key, nonce: job.nonce };
  const { uploadId } = await withRetry(engine.retrier, attempting(job), () =>
    callStore(engine, { operation, signal: job.watch.signal }, readCreate),
  );
  for (const part of job.plan.parts) if (job.memory.parts.has(part.partNumber)) job.watch.onPart(part, "waiting");
  await job.memory.begin(uploadId);
}

/** Goes on with the known upload; asks the store for parts it acknowledged and the journal missed. */
async function ensureUpload(engine: Engine, job: SendJob): Promise<void> {
  const { uploadId } = job.memory;
  if (uploadId === null) {
    await beginUpload(engine, job);
    return;
  }
  if (job.memory.isFresh || job.memory.parts.size === job.plan.parts.length) return;
  const planned = new Map(job.plan.parts.map((part) => [part.partNumber, part]));
  for (let after: number | null = 0; after !== null;) {
    const operation: Operation = { op: "parts", key: job.key, uploadId, after };
    const page: ReturnType<typeof readListParts> = await withRetry(engine.retrier, attempting(job), () =>
      callStore(engine, { operation, signal: job.watch.signal }, readListParts),
    );
    for (const listed of page.parts) {
      const part = planned.get(listed.partNumber);
      if (part === undefined || job.memory.parts.has(listed.partNumber) || listed.sizeBytes !== part.length) continue;
      const crc32 = job.knownCrc(part);
      // Without a checksum on both sides nothing says that these are our bytes.
      if (crc32 === null || listed.crc32 !== crc32) continue;
      await job.memory.acknowledge(listed.partNumber, { etag: listed.etag, crc32 });
      job.watch.onPart(part, "kept");
    }
    after = page.nextAfter;
  }
}

/** The operation that sends a part; the whole file when there is only one. */
export function partOperation(
  job: Pick<SendJob, "key" | "plan" | "nonce">,
  about: { part: PlannedPart; uploadId: string | null; crc32: string },
): Operation {
  const { part, uploadId, crc32 } = about;
  const { key, nonce } = job;
  if (job.plan.parts.length === 1) return { op: "put", key, sizeBytes: part.length, crc32, nonce };
  return { op: "part", key, uploadId: uploadId ?? "", partNumber: part.partNumber, sizeBytes: part.length, crc32 };
}

interface PartToSend {
  part: PlannedPart;
  handle: FileHandle;
  /** Summed ahead, by part number. */
  sums: ReadonlyMap<number, string>;
}

async function sendPart(engine: Engine, job: SendJob, about: PartToSend): Promise<void> {
  const { part, handle, sums } = about;
  const { signal } = job.watch;
  const slice: PartSlice = { fd: handle.fd, path: job.path, offset: part.offset, length: part.length };
  const size = job.plan.parts.length === 1 ? "small" : "large";
  const sent = await engine.gate.run({ signal, size }, async () => {
    const crc32 = job.knownCrc(part) ?? sums.get(part.partNumber) ?? (await checksumSlice(slice));
    const operation = partOperation(job, { part, uploadId: job.memory.uploadId, crc32 });
    // One for all tries: a part that has to go again keeps its place.
    const lane = engine.limiter.lane();
    const etag = await withRetry(engine.retrier, attempting(job), async () => {
      await assertUnchanged(handle, job.identity, job.path);
      job.watch.onPart(part, "moving");
      const attempt = async (own: Pick<Flow, "signal" | "isHedge" | "onMoved">) => {
        const flow = meteredBody(engine, job, { slice, crc32, lane, ...own });
        try {
          const sentEtag = await putOnce(engine, job, { operation, body: flow.body, signal: own.signal });
          flow.arrived();
          return sentEtag;
        } catch (error) {
          flow.takeBack();
          throw error;
        }
      };
      try {
        // Twice the same part is only harmless where equal bytes have equal ETags.
        const mayHedge = operation.op === "part" && engine.traits.trustEtag;
        if (!mayHedge) return await attempt({ signal, isHedge: false, onMoved: () => undefined });
        return await engine.hedges.run({ signal, lengthBytes: part.length, attempt });
      } catch (error) {
        job.watch.onPart(part, "waiting");
        throw error;
      }
    });
    return { etag, crc32 };
  });
  // The connection goes on with the next part while this one is being written down.
  await job.memory.acknowledge(part.partNumber, sent);
  job.watch.patience.progressed();
  job.watch.onPart(part, "done");
}

async function putOnce(
  engine: Engine,
  job: SendJob,
  about: { operation: Operation; body: UploadBody; signal: AbortSignal },
): Promise<string> {
  const { operation } = about;
  if (operation.op !== "put") return (await callStore(engine, about, readPart)).etag;
  try {
    return (await callStore(engine, about, readPut)).etag;
  } catch (error) {
    // An earlier try of ours may have arrived although its answer did not.
    if (!isFault(error) || error.code !== "ALREADY_EXISTS") throw error;
    const etag = await findOurs(engine, job);
    if (etag === null) throw error;
    return etag;
  }
}

interface Flow {
  slice: PartSlice;
  crc32: string;
  lane: Lane;
  signal: AbortSignal;
  isHedge: boolean;
  onMoved(bytes: number): void;
}

/**
 * A body that waits for the limiter and counts what it hands over. The second try of a part is only counted as traffic:
 * its bytes are on the screen already.
 */
function meteredBody(engine: Engine, job: SendJob, flow: Flow) {
  const { slice, crc32, lane, signal, isHedge, onMoved } = flow;
  // A store that is told the sum compares it; otherwise the bytes are summed again while they are handed over.
  const reader = createPartReader(slice, engine.traits.checksum === "crc32" ? null : crc32);
  let moved = 0;
  const body: UploadBody = {
    lengthBytes: slice.length,
    bytesPerSecond: () => engine.meter.bytesPerSecond() / Math.max(1, engine.gate.held),
    read: (into, at) => {
      const wanted = Math.min(into.length, slice.length - at);
      const allowed = lane.tryTake(wanted);
      if (allowed > 0) return reader.read(into.subarray(0, allowed), at);
      return lane.takeSome(wanted, signal).then((later) => reader.read(into.subarray(0, later), at));
    },
    sent: (bytes) => {
      if (bytes > 0) engine.meter.add(bytes);
      moved += bytes;
      onMoved(bytes);
      if (!isHedge) job.watch.onMoved(bytes);
    },
  };
  return {
    body,
    takeBack: () => {
      if (!isHedge) job.watch.onMoved(-moved);
    },
    /** The first try's bytes were taken back when it was dropped in favour of this one. */
    arrived: () => {
      if (isHedge) job.watch.onMoved(slice.length);
    },
  };
}

async function complete(engine: Engine, job: SendJob): Promise<string> {
  const { uploadId } = job.memory;
  if (uploadId === null) throw new Fault("NO_SUCH_UPLOAD", { op: "complete", subject: job.key });
  const parts = job.plan.parts.map((part) => {
    const sent = job.memory.parts.get(part.partNumber);
    if (sent === undefined)
      throw new Fault("INTERNAL", { op: "complete", subject: job.key, detail: "a part is missing" });
    return { partNumber: part.partNumber, ...sent };
  });
  const body = Buffer.from(completeBody(parts, engine.traits));
  const operation: Operation = { op: "complete", key: job.key, uploadId };
  let inDoubt = false;
  await withRetry(engine.retrier, attempting(job), async () => {
    // The answer before was lost or strange; the store may have done it.
    if (inDoubt && (await findOurs(engine, job)) !== null) return;
    try {
      await callStore(engine, { operation, signal: job.watch.signal, body }, readComplete);
    } catch (error) {
      if (!isFault(error) || (error.retry === "never" && !IN_DOUBT.has(error.code))) throw error;
      inDoubt = true;
      if (IN_DOUBT.has(error.code) && (await findOurs(engine, job)) !== null) return;
      throw error;
    }
  });
  return verify(engine, job);
}

/** ETag of the object when it is there, has our size and our nonce; null otherwise. Asks once. */
async function findOurs(engine: Engine, job: SendJob): Promise<string | null> {
  const size = job.plan.parts.reduce((sum, part) => sum + part.length, 0);
  const operation: Operation = { op: "head", key: job.key };
  try {
    const head = await callStore(engine, { operation, signal: job.watch.signal }, readHead);
    return head.nonce === job.nonce && head.sizeBytes === size ? head.etag : null;
  } catch (error) {
    if (isFault(error) && (error.code === "NO_SUCH_KEY" || error.code === "NOT_FOUND")) return null;
    throw error;
  }
}

const lookForOurs = (engine: Engine, job: SendJob): Promise<string | null> =>
  withRetry(engine.retrier, attempting(job), () => findOurs(engine, job));

async function verify(engine: Engine, job: SendJob): Promise<string> {
  const etag = await lookForOurs(engine, job);
  if (etag !== null) return etag;
  const detail = "the store does not show the object that was sent";
  throw new Fault("SIZE_MISMATCH", { op: "HeadObject", subject: job.key, detail });
}

/** Ends an upload nobody will finish. Best effort: an orphan only wastes space until the hub sweeps it. */
export async function abandonUpload(
  engine: Engine,
  about: { key: string; uploadId: string; signal: AbortSignal },
): Promise<void> {
  const operation: Operation = { op: "abort", key: about.key, uploadId: about.uploadId };
  await callStore(engine, { operation, signal: about.signal }, readAbort);
}
