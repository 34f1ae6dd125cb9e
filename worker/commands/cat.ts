import { Fault } from "#protocol/faults/fault.ts";
import { formatBytes } from "#protocol/base/units.ts";
import { readObjectSum } from "#storage/checksums/crc32.ts";
import { FAR_MS, withStoreSession, type StoreSession } from "../store-session/store-session.ts";
import { assertReadable, headObject, partBytesOf, type ObjectHead } from "../object-copy/requests/head.ts";
import { createPartsDigest, createWholeDigest, type PartDigest } from "../object-copy/requests/part-digest.ts";
import { assertNoMark } from "../object-copy/requests/stands-for-folder.ts";
import { piecesWithin, readPieces } from "../object-copy/requests/read-range.ts";
import { oneKey, usage, type StorePlace, type CommandContext } from "../command-line/command-context.ts";

/** Implements `tidemark cat`: writes an object, or a range of it, to stdout. Faults: those of `writeObject`. */
export const cat = (context: CommandContext): Promise<number> => writeObject(context, oneKey(context, "cat"));

/**
 * Writes the bytes of one version of an object in order, with several requests in flight. Compares a whole object with
 * the store's checksum at the end, if there is one. Faults: NO_SUCH_KEY, OBJECT_CHANGED, CHECKSUM_MISMATCH, BAD_INPUT
 * for an offset past the end, CANCELLED.
 */
export function writeObject(context: CommandContext, from: StorePlace): Promise<number> {
  const { config, signal } = context;
  const { key } = from;
  if (key === "" || key.endsWith("/"))
    throw usage(`s3://${from.bucket}/${key}`, "it names no object; stdout takes one");
  return withStoreSession(context, { bucket: from.bucket, direction: "down", isHeld: true }, async (storeSession) => {
    const head = await headObject(storeSession, { key, signal });
    assertReadable(head, { op: "cat", key });
    await assertNoMark(storeSession, { key, ...head, signal });
    const offset = config.size("offset") ?? 0;
    if (offset > head.sizeBytes) {
      throw usage(`--offset ${offset}`, `the object has ${formatBytes(head.sizeBytes)} (${head.sizeBytes} bytes)`);
    }
    const length = Math.min(config.size("count") ?? Infinity, head.sizeBytes - offset);
    const { semaphore, httpClient } = storeSession.engine;
    // On a link with a long RTT twice as many requests are in flight, so that no connection is idle between two pieces.
    const wanted = (httpClient.rttMs() ?? 0) >= FAR_MS ? 2 * semaphore.width : semaphore.width;
    const ahead = piecesWithin(config.size("memory") ?? 0, wanted);
    const known = length === head.sizeBytes ? await expectedOf(storeSession, { head, key, signal }) : null;
    for await (const piece of readPieces(storeSession, { key, etag: head.etag, offset, length, ahead, signal })) {
      known?.digest.add(piece);
      await context.output(piece);
    }
    if (known !== null && known.digest.end() !== known.sum) {
      throw new Fault("CHECKSUM_MISMATCH", { op: "cat", subject: key, detail: "do not use what was written" });
    }
    return 0;
  });
}

/**
 * Returns the store's checksum of the object and a digest that computes the same; null when there is none, or when it
 * is over parts of unknown length.
 */
async function expectedOf(
  storeSession: StoreSession,
  about: { head: ObjectHead; key: string; signal: AbortSignal },
): Promise<{ sum: string; digest: PartDigest } | null> {
  const { head, key, signal } = about;
  const known = head.crc32 === null ? null : readObjectSum(head.crc32);
  if (head.crc32 === null || known === null) return null;
  if (known.partCount === null) return { sum: head.crc32, digest: createWholeDigest("crc32") };
  const partBytes = await partBytesOf(storeSession, { key, signal });
  if (partBytes === null || Math.ceil(head.sizeBytes / partBytes) !== known.partCount) return null;
  return { sum: head.crc32, digest: createPartsDigest("crc32", partBytes) };
}
