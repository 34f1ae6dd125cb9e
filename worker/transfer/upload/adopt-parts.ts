import type { Operation } from "#protocol/wire/operations.ts";
import { type ListedPart, readListParts } from "#storage/s3/answers.ts";
import { quoteEtag } from "#storage/answers/check-range.ts";
import type { PlannedPart } from "#storage/s3/plan.ts";
import { callStore, type Engine } from "../engine.ts";
import type { PartSums } from "./read-part.ts";
import { withRetry } from "../store-session/retry.ts";
import { attempting, type SendJob } from "./send-job.ts";
import type { PartToSend } from "./send-part.ts";

interface Resumed extends Pick<PartToSend, "source" | "ahead"> {
  job: SendJob;
}

/**
 * Asks the store which parts of an upload it has, and adopts those that the journal lacks. A process may have been killed
 * before it recorded the answer, or the kernel sent the rest of a part after the process had ended. Reading such a part is
 * cheaper than sending it again. Faults: those of the store, CANCELLED, NO_SPACE, WRITE_FAILED.
 */
export async function adoptParts(engine: Engine, resumed: Resumed & { uploadId: string }): Promise<void> {
  const { job, uploadId } = resumed;
  const planned = new Map(job.plan.parts.map((part) => [part.partNumber, part]));
  const adopt = async (part: PlannedPart, listed: ListedPart) => {
    // A part that cannot be read fails when it is sent.
    const sums = await sumsOf(engine, resumed, part).catch(() => null);
    // Without a checksum on both sides nothing proves that these are our bytes.
    if (sums === null || !isOfThese(listed, sums)) return;
    await job.memory.acknowledge(part.partNumber, { etag: listed.etag, crc32: sums.crc32 });
    job.watch.onPart(part, "kept");
  };
  for (let after: number | null = 0; after !== null;) {
    const operation: Operation = { op: "parts", key: job.key, uploadId, after };
    const page: ReturnType<typeof readListParts> = await withRetry(engine.retrier, attempting(job), () =>
      callStore(engine, { operation, signal: job.watch.signal }, readListParts),
    );
    const adopted: Promise<void>[] = [];
    for (const listed of page.parts) {
      const part = planned.get(listed.partNumber);
      if (part === undefined || job.memory.parts.has(listed.partNumber) || listed.sizeBytes !== part.length) continue;
      adopted.push(adopt(part, listed));
    }
    await Promise.all(adopted);
    after = page.nextAfter;
  }
}

/**
 * Records the parts that the journal lacks of a complete object of ours: a process was killed after it requested Complete.
 * Faults: READ_FAILED, SOURCE_CHANGED, NO_SPACE, WRITE_FAILED.
 * @param etag ETag of the object; the parts of a complete object need no ETags of their own
 */
export async function adoptObject(engine: Engine, resumed: Resumed, etag: string): Promise<void> {
  const { job } = resumed;
  const missed = job.plan.parts.filter(({ partNumber }) => !job.memory.parts.has(partNumber));
  await Promise.all(
    missed.map(async (part) => {
      const { crc32 } = await sumsOf(engine, resumed, part);
      await job.memory.acknowledge(part.partNumber, { etag, crc32 });
      job.watch.onPart(part, "kept");
    }),
  );
}

/** Returns the checksums of a part; reads the part if they are unknown. Faults: READ_FAILED, SOURCE_CHANGED. */
async function sumsOf(engine: Engine, { job, source, ahead }: Resumed, part: PlannedPart): Promise<PartSums> {
  const known = job.knownSums(part) ?? (await ahead.of(part));
  return known ?? engine.turns.run(() => source.sum(part, engine.store.checksum));
}

/**
 * Returns whether the listed part has these checksums. An ETag that equals the MD5 proves it, however the store makes its
 * ETags.
 */
const isOfThese = (listed: ListedPart, { crc32, md5 }: PartSums): boolean =>
  listed.crc32 === null ? md5 !== undefined && listed.etag === quoteEtag(md5) : listed.crc32 === crc32;
