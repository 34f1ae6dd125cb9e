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

/** One part of a file, or a whole small file, from the disk to the store. */
export interface PartToSend {
  part: PlannedPart;
  source: SendSource;
  ahead: Pick<SumsAhead, "of">;
}

/** The operation that sends a part; the whole file when there is only one. */
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

/** Sums of the parts that go first, each as soon as it is there. What cannot be read shows when the part is sent. */
export interface SumsAhead {
  /** Null when it was not summed ahead. */
  of(part: PlannedPart): Promise<PartSums | null>;
  /** Resolves when nothing is read any more. */
  stop(): Promise<void>;
}

/** Begins to sum, one part after the other: the first ones can go while the next are being read. */
export function sumAhead(engine: Engine, job: SendRequests, source: SendSource): SumsAhead {
  const found = new Map<number, Promise<PartSums | null>>();
  let isStopped = false;
  const first = job.plan.parts.filter((part) => !job.memory.parts.has(part.partNumber)).slice(0, engine.gate.width);
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
  /** The store said, to the first time it was asked, all that can be said of an object that is safely there. */
  isSure: boolean;
}

const SMALL_BYTES = 1024 * 1024;

/**
 * Sends a part until the store has it. `remembered` resolves when that is written down, which nobody has to wait for to send more.
 * Faults, of both: SOURCE_CHANGED, READ_FAILED, those of the store, CANCELLED, NO_SPACE, WRITE_FAILED.
 */
export async function sendPart(
  engine: Engine,
  job: SendRequests,
  about: PartToSend,
): Promise<Sent & { remembered: Promise<void> }> {
  const { part, source, ahead } = about;
  const { signal } = job.watch;
  const isWhole = job.plan.parts.length === 1;
  // For all tries: a part that has to go again keeps its sums and its place.
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
        // Twice the same bytes are only harmless where they have equal ETags.
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
  let sent = await engine.gate.run(wants, send).catch(unlessShed);
  while (sent === null) sent = await engine.gate.run(wants, send).catch(unlessShed);
  if (engine.store.wantsEtag()) await learnEtags(engine, about, sent.etag);
  // What is done is written down as that.
  const remembered = isDone(job, sent)
    ? Promise.resolve()
    : job.memory.acknowledge(part.partNumber, { etag: sent.etag, crc32: sent.crc32 });
  job.watch.patience.progressed();
  job.watch.onPart(part, "done");
  return { ...sent, remembered };
}

/** Nothing follows: the object is there, and the store has said all that there is to say. */
export const isDone = (job: Pick<SendJob, "plan">, { isSure }: Pick<Sent, "isSure">): boolean =>
  isSure && job.plan.parts.length === 1;

/** Most stores take the MD5 as the ETag of what came in one request; of one that nobody knows the first answer tells. */
async function learnEtags(engine: Engine, { source, part }: PartToSend, etag: string): Promise<void> {
  const sums = await source.sum(part, "md5").catch(() => null);
  if (sums?.md5 !== undefined) engine.store.seeEtag(etag, sums.md5);
}

/** Null for a part that made room for others and has to wait for its turn again. */
function unlessShed(error: unknown): null {
  if (error === SHED) return null;
  throw error;
}

/** The sums of one part, found once for all tries and as far as they are needed. */
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
      // Its turn may come after the end of all of it.
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

/** What is an attempt's own: see `Hedges`. */
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

/** An object that is there already may be ours: an earlier try arrived although its answer did not. */
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
 * A body that waits for the limiter and counts what it hands over. The second try of a part is only counted as traffic:
 * its bytes are on the screen already.
 */
function meteredBody(
  engine: Engine,
  job: SendRequests,
  flow: Omit<PartAttempt, "summing"> & { crc32: string; checksum: StoreChecksum },
) {
  const { part, source, crc32, checksum, lane, signal, isHedge, onMoved } = flow;
  const { length } = part;
  // A store that is told the sum compares it; otherwise the bytes are summed again while they are handed over. Of a store that
  // nobody knows its answer will tell: only an object that is there at once with its bytes cannot wait for that.
  const mayCompare = checksum === "crc32" && job.plan.parts.length > 1;
  const isSummed = !mayCompare && !engine.store.compares(checksum);
  const reader = source.reader(part, isSummed ? crc32 : null);
  let moved = 0;
  const place = isHedge || length <= SMALL_BYTES ? null : engine.convoy.join(length);
  // What is summed again has to come by here.
  const lies = isSummed ? null : source.placeOf(part);
  const pass = (bytes: number): number | Promise<number> => lane.tryTake(bytes) || lane.takeSome(bytes, signal);
  const body: UploadBody = {
    lengthBytes: length,
    ...(lies !== null && { file: { ...lies, pass, passNow: lane.tryTake } }),
    bytesPerSecond: () => engine.meter.bytesPerSecond() / Math.max(1, engine.gate.held),
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
    /** Where nobody else has compared what was sent with its sum. Faults: SOURCE_CHANGED, READ_FAILED. */
    assertSummed: async () => {
      if (isSummed || engine.store.compares(checksum)) return;
      const again = await source.sum(part, "crc32");
      if (again.crc32 !== crc32) {
        throw new Fault("SOURCE_CHANGED", { op: "read", subject: job.path, detail: "its bytes changed" });
      }
    },
    /** The first try's bytes were taken back when it was dropped in favour of this one. */
    arrived: () => {
      place?.leave();
      if (isHedge) job.watch.onMoved(length);
    },
  };
}
