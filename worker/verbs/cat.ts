import { crc32 } from "node:zlib";
import { Fault } from "#protocol/fault.ts";
import { formatBytes } from "#protocol/units.ts";
import { crc32FromBase64 } from "#storage/crc32.ts";
import { withBench } from "./bench.ts";
import { headObject } from "./head.ts";
import { piecesWithin, readPieces } from "./read-range.ts";
import { oneKey, usage, type StorePlace, type Verb } from "./verb.ts";

/** `tidemark cat`: an object, or a range of it, to stdout. Faults: those of `writeObject`. */
export const cat = (verb: Verb): Promise<number> => writeObject(verb, oneKey(verb, "cat"));

/**
 * The bytes of an object in order, several requests ahead. All of one version; of a whole object whose checksum the
 * store keeps, the sum is compared at the end.
 * Faults: NO_SUCH_KEY, OBJECT_CHANGED, CHECKSUM_MISMATCH, BAD_INPUT for an offset past the end, CANCELLED.
 */
export function writeObject(verb: Verb, from: StorePlace): Promise<number> {
  const { config, signal } = verb;
  const { key } = from;
  if (key === "" || key.endsWith("/"))
    throw usage(`s3://${from.bucket}/${key}`, "it names no object; stdout takes one");
  return withBench(verb, { bucket: from.bucket, direction: "down" }, async (bench) => {
    const head = await headObject(bench, { key, signal });
    const offset = config.size("offset") ?? 0;
    if (offset > head.sizeBytes) {
      throw usage(`--offset ${offset}`, `the object has ${formatBytes(head.sizeBytes)} (${head.sizeBytes} bytes)`);
    }
    const length = Math.min(config.size("count") ?? Infinity, head.sizeBytes - offset);
    const ahead = piecesWithin(config.size("memory") ?? 0, bench.engine.gate.width);
    let sum = 0;
    for await (const piece of readPieces(bench, { key, etag: head.etag, offset, length, ahead, signal })) {
      sum = crc32(piece, sum);
      await verb.output(piece);
    }
    const known = length === head.sizeBytes && head.crc32 !== null ? crc32FromBase64(head.crc32) : null;
    if (known !== null && known !== sum.toString(16).padStart(8, "0")) {
      throw new Fault("CHECKSUM_MISMATCH", { op: "cat", subject: key, detail: "do not use what was written" });
    }
    return 0;
  });
}
