import { Fault, isFault } from "#protocol/faults/fault.ts";
import type { StoreChecksum } from "#protocol/wire/store-checksum.ts";
import type { Operation } from "#protocol/wire/operations.ts";
import { isSurePut, readPart, readPut } from "#storage/s3/answers.ts";
import type { PlannedPart } from "#storage/s3/plan.ts";
import { throwIfAborted } from "#worker/base/clock.ts";
import { callSummed, type SummedAnswer } from "../store-session/call-summed.ts";
import type { Engine } from "../engine.ts";
import { findOurs } from "./find-ours.ts";
import { SHED } from "../concurrency/flight.ts";
import type { UploadBody } from "../http/http-client.ts";
import type { Lane } from "../concurrency/limiter.ts";
import { isSummedFor, type PartSums } from "./read-part.ts";
import { withRetry } from "../store-session/retry.ts";
import { attempting, type SendJob, type SendRequests } from "./send-job.ts";
import type { SendSource } from "./send-source.ts";

/** One part of a file, or a whole small file, to send. */
export interface PartToSend {
  part: PlannedPart;
  source: SendSource;
  ahead: Pick<SumsAhead, "of">;
}

/** Returns the operation that sends a part, or the whole file when there is only one part. */
export function partOperation(
  job: Pick<SendJob, "key" | "plan" | "nonce">,
  about: { part: PlannedPart; uploadId: string | null; sums: PartSums; checksum: StoreChecksum },
): Operation {
  const { part, uploadId, sums, checksum } = about;
  const { key, nonce } = job;
  const { crc32 } = sums;
  const sizeBytes = part.length;
  const summed = { sizeBytes, crc32, checksum, ...(checksum === "md5" && { md5: sums.md5 }) };
  if (job.plan.parts.length === 1) return { op: "put", key, nonce, ...summed };
  return { op: "part", key, uploadId: uploadId ?? "", partNumber: part.partNumber, ...summed };
}

/** Checksums of the first parts, computed in advance. A part that cannot be read fails when it is sent. */
export interface SumsAhead {
  /** Resolves with the checksums of a part; null when they were not computed in advance. */
  of(part: PlannedPart): Promise<PartSums | null>;
  /** Stops summing; resolves when nothing is read any more. */
  stop(): Promise<void>;
}

/** Begins to sum the first parts, one after the other: the first can be sent while the next are being read. */
export function sumAhead(engine: Engine, job: SendRequests, source: SendSource): SumsAhead {
  const found = new Map<number, Promise<PartSums | null>>();
  let isStopped = false;
  const first = job.plan.parts
    .filter((part) => !job.memory.parts.has(part.partNumber))
    .slice(0, engine.semaphore.width);
  for (const part of first) {
    if (job.knownSums(part) !== null) continue;
    const sum = async () => (isStopped ? null : source.sum(part, engine.store.checksum).catch(() => null));
    found.set(part.partNumber, engine.turns.run(sum));
  }
  return {
    of: (part) => found.get(part.partNumber) ?? Promise.resolve(null),
    stop: async () => {
      isStopped = true;
      await Promise.all(found.values());
    },
  };
}

interface Sent {
  etag: string;
  crc32: string;
  /** Whether the first answer already proves that the object is stored, so that no HEAD is needed. */
  isSure: boolean;
}

const SMALL_BYTES = 1024 * 1024;

/**
 * Sends a part until the store has it. `remembered` resolves when the journal has the part; sending more need not wait for
 * that. Faults, of both: SOURCE_CHANGED, READ_FAILED, those of the store, CANCELLED, NO_SPACE, WRITE_FAILED.
 */
export async function sendPart(
  engine: Engine,
  job: SendRequests,
  about: PartToSend,
): Promise<Sent & { remembered: Promise<void> }> {
  const { part, source, ahead } = about;
  const { signal } = job.watch;
  const isWhole = job.plan.parts.length === 1;
  // Kept for all tries: a part that is sent again keeps its checksums and its lane.
  let kept: { summing: Summing; lane: Lane } | null = null;
  const send = async () => {
    kept ??= {
      lane: engine.limiter.lane(),
      summing: createSumming(
        engine,
        { part, source, path: job.path, signal },
        job.knownSums(part) ?? (await ahead.of(part)),
      ),
    };
    const { summing, lane } = kept;
    let tries = 0;
    return withRetry(engine.retrier, attempting(job), async () => {
      await source.assertUnchanged();
      tries++;
      job.watch.onPart(part, "moving");
      const attempt = (own: Own) => attemptPart(engine, job, { part, source, summing, lane, ...own });
      try {
        // Sending the same bytes twice is harmless only where both have equal ETags.
        const mayRepeat = () => engine.store.hasEqualEtags === true;
        const result = await engine.hedges.run({
          signal,
          lengthBytes: part.length,
          isSmall: isWhole && part.length <= SMALL_BYTES,
          mayShed: true,
          mayRepeat,
          attempt,
        });
        return { ...result, isSure: result.isSure && tries === 1 };
      } catch (error) {
        job.watch.onPart(part, isFault(error) && error.code === "CANCELLED" ? "waiting" : "again");
        throw error;
      }
    });
  };
  const wants = { signal, size: isWhole ? "small" : "large" } as const;
  let sent = await engine.semaphore.run(wants, send).catch(unlessShed);
  while (sent === null) sent = await engine.semaphore.run(wants, send).catch(unlessShed);
  if (engine.store.wantsEtag()) await learnEtags(engine, about, sent.etag);
  // An object that is done is recorded as a whole by `finish`, not as a part.
  const remembered = isDone(job, sent)
    ? Promise.resolve()
    : job.memory.acknowledge(part.partNumber, { etag: sent.etag, crc32: sent.crc32 });
  job.watch.patience.progressed();
  job.watch.onPart(part, "done");
  return { ...sent, remembered };
}

/** Returns whether nothing follows: the object is stored, and its answer proves that. */
export const isDone = (job: Pick<SendJob, "plan">, { isSure }: Pick<Sent, "isSure">): boolean =>
  isSure && job.plan.parts.length === 1;

/** Learns whether the store's ETag of an object sent in one request is its MD5, as in most stores. */
async function learnEtags(engine: Engine, { source, part }: PartToSend, etag: string): Promise<void> {
  const sums = await source.sum(part, "md5").catch(() => null);
  if (sums?.md5 !== undefined) engine.store.seeEtag(etag, sums.md5);
}

/** Returns null for a part that made room for others and has to wait for the semaphore again. Throws other errors. */
function unlessShed(error: unknown): null {
  if (error === SHED) return null;
  throw error;
}

/** Returns the checksums of one part; computes each only when needed and once for all tries. */
type Summing = (checksum: StoreChecksum) => Promise<PartSums>;

function createSumming(
  { turns }: Pick<Engine, "turns">,
  about: { part: PlannedPart; source: SendSource; path: string; signal: AbortSignal },
  known: PartSums | null,
): Summing {
  const { part, source, path, signal } = about;
  let sums = known;
  return async (checksum) => {
    if (sums !== null && isSummedFor(sums, checksum)) return sums;
    const sum = async () => {
      // The queue may reach this part after the upload has ended.
      throwIfAborted(signal);
      return source.sum(part, checksum);
    };
    const found = await (part.length > SMALL_BYTES ? turns.run(sum) : sum());
    if (sums !== null && sums.crc32 !== found.crc32) {
      throw new Fault("SOURCE_CHANGED", { op: "read", subject: path, detail: "its bytes changed" });
    }
    sums = found;
    return found;
  };
}

/** Fields of a single attempt: see `Hedges`. */
interface Own {
  signal: AbortSignal;
  isHedge: boolean;
  onMoved(bytes: number): void;
}

interface PartAttempt extends Own {
  part: PlannedPart;
  source: SendSource;
  summing: Summing;
  lane: Lane;
}

async function attemptPart(engine: Engine, job: SendRequests, about: PartAttempt): Promise<Sent> {
  const { part, signal } = about;
  const under: { flow: MeteredBody | null; sums: PartSums } = { flow: null, sums: { crc32: "" } };
  const make = async (checksum: StoreChecksum) => {
    under.flow?.takeBack();
    under.sums = await about.summing(checksum);
    under.flow = meteredBody(engine, job, { ...about, checksum, crc32: under.sums.crc32 });
    const operation = partOperation(job, { part, uploadId: job.memory.uploadId, sums: under.sums, checksum });
    return { operation, body: under.flow.body, signal };
  };
  const read = ({ answer, subject }: SummedAnswer) =>
    job.plan.parts.length === 1
      ? { etag: readPut(answer, subject).etag, isSure: isSurePut(answer, under.sums) }
      : { etag: readPart(answer, subject).etag, isSure: false };
  try {
    const said = await callSummed(engine, make, read).catch((error: unknown) => arrivedBefore(engine, job, error));
    await under.flow?.assertSummed();
    under.flow?.arrived();
    return { ...said, crc32: under.sums.crc32 };
  } catch (error) {
    under.flow?.takeBack();
    throw error;
  }
}

/**
 * Returns the ETag of an object that exists already, if it is ours: an earlier try arrived although its answer did not.
 * Throws `error` otherwise.
 */
export async function arrivedBefore(
  engine: Engine,
  job: SendRequests,
  error: unknown,
): Promise<{ etag: string; isSure: boolean }> {
  if (!isFault(error) || error.code !== "ALREADY_EXISTS" || job.plan.parts.length > 1) throw error;
  const etag = await findOurs(engine, job);
  if (etag === null) throw error;
  return { etag, isSure: true };
}

type MeteredBody = ReturnType<typeof meteredBody>;

/**
 * Creates a body that waits for the limiter and counts its bytes. A hedged attempt counts only as traffic: the progress
 * display holds its bytes already.
 */
function meteredBody(
  engine: Engine,
  job: SendRequests,
  flow: Omit<PartAttempt, "summing"> & { crc32: string; checksum: StoreChecksum },
) {
  const { part, source, crc32, checksum, lane, signal, isHedge, onMoved } = flow;
  const { length } = part;
  // A store that gets the checksum compares it; otherwise the bytes are summed again while they are sent. An unknown store
  // shows only in its answer whether it does. A multipart upload can wait for that; a single object cannot, because it is
  // visible at once.
  const mayCompare = checksum === "crc32" && job.plan.parts.length > 1;
  const isSummed = !mayCompare && !engine.store.compares(checksum);
  const reader = source.reader(part, isSummed ? crc32 : null);
  let moved = 0;
  const place = isHedge || length <= SMALL_BYTES ? null : engine.tailPacer.join(length);
  // Bytes that are summed again must pass through this process, not directly from the file to the socket.
  const lies = isSummed ? null : source.placeOf(part);
  const pass = (bytes: number): number | Promise<number> => lane.tryTake(bytes) || lane.takeSome(bytes, signal);
  const body: UploadBody = {
    lengthBytes: length,
    ...(lies !== null && { file: { ...lies, pass, passNow: lane.tryTake } }),
    bytesPerSecond: () => engine.meter.bytesPerSecond() / Math.max(1, engine.semaphore.held),
    read: (into, at, arePassed) => {
      const wanted = Math.min(into.length, length - at);
      const allowed = arePassed ? wanted : lane.tryTake(wanted);
      if (allowed > 0) return reader.read(into.subarray(0, allowed), at);
      return lane.takeSome(wanted, signal).then((later) => reader.read(into.subarray(0, later), at));
    },
    ...(place !== null && {
      allow: (bytes: number, goOn: () => void) => place.take(bytes, goOn),
      begins: place.begins,
    }),
    sent: (bytes) => {
      if (bytes > 0) engine.meter.add(bytes);
      moved += bytes;
      onMoved(bytes);
      place?.moved(bytes);
      if (!isHedge) job.watch.onMoved(bytes);
    },
  };
  return {
    body,
    takeBack: () => {
      place?.leave();
      if (!isHedge) job.watch.onMoved(-moved);
      moved = 0;
    },
    /**
     * Reads and sums the part again if nothing else compared its bytes with the checksum. Faults: SOURCE_CHANGED,
     * READ_FAILED.
     */
    assertSummed: async () => {
      if (isSummed || engine.store.compares(checksum)) return;
      const again = await source.sum(part, "crc32");
      if (again.crc32 !== crc32) {
        throw new Fault("SOURCE_CHANGED", { op: "read", subject: job.path, detail: "its bytes changed" });
      }
    },
    /** Counts the bytes of a hedged attempt: those of the first attempt were taken back when it was canceled. */
    arrived: () => {
      place?.leave();
      if (isHedge) job.watch.onMoved(length);
    },
  };
}
