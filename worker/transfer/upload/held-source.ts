import { createHash } from "node:crypto";
import { Fault } from "#protocol/faults/fault.ts";
import { sumToHex } from "#storage/checksums/combine-crc32.ts";
import type { PlannedPart } from "#storage/s3/plan.ts";
import { nextTurn } from "#worker/base/adaptive-sync-io.ts";
import { summedReader } from "./read-part.ts";
import type { SendSource } from "./send-source.ts";
import { sumBytes } from "#worker/base/sum-bytes.ts";

/** Bytes to sum before other work gets its turn: they take a quarter of a millisecond. */
const SUM_AT_A_TIME_BYTES = 512 * 1024;

/** Creates a source of parts that are in memory until the store has them. `subject`: named in faults. */
export function heldSource(subject: string, bytesOf: (part: PlannedPart) => Buffer | undefined): SendSource {
  const held = (part: PlannedPart): Buffer => {
    const bytes = bytesOf(part);
    if (bytes === undefined)
      throw new Fault("INTERNAL", { op: "send", subject, detail: "a part was let go too early" });
    return bytes;
  };
  return {
    assertUnchanged: () => Promise.resolve(),
    reader: (part, crc32Hex) =>
      summedReader({ path: subject, length: part.length, crc32Hex }, (into, at) => void held(part).copy(into, 0, at)),
    placeOf: () => null,
    sum: async (part, checksum) => {
      const md5 = checksum === "md5" ? createHash("md5") : null;
      let sum = 0;
      for (let at = 0; at < part.length; at += SUM_AT_A_TIME_BYTES) {
        const bytes = held(part).subarray(at, at + SUM_AT_A_TIME_BYTES);
        sum = sumBytes(bytes, sum);
        md5?.update(bytes);
        await nextTurn();
      }
      return { crc32: sumToHex(sum), ...(md5 !== null && { md5: md5.digest("hex") }) };
    },
    close: () => Promise.resolve(),
  };
}
