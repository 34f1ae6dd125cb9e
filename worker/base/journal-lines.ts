import { fstatSync, readSync } from "node:fs";
import type * as z from "zod";
import { crc32Hex } from "#storage/checksums/crc32.ts";
import { nextTurn } from "./adaptive-sync-io.ts";

/** Returns a line of a journal: the CRC32 of its JSON, then the JSON. */

export const lineOf = (record: unknown): string => {
  const json = JSON.stringify(record);
  return `${crc32Hex(json)} ${json}\n`;
};

const LINE_END = 10;
/** Bytes read at a time; nearly every line is shorter. */
const STRETCH_BYTES = 256 * 1024;

/** Receives each record with the offset of its line. */
export type OnRecord<T> = (record: T, at: number) => void;

/**
 * Passes on the valid records at the start of a file, and yields to the event loop between reads. Returns the offset of the
 * first bad line and the size of the file.
 */
export async function readLines<T>(
  fd: number,
  about: { schema: z.ZodType<T>; onRecord: OnRecord<T> },
): Promise<{ validBytes: number; bytes: number }> {
  let validBytes = 0;
  let buffer = Buffer.allocUnsafe(STRETCH_BYTES);
  let held = 0;
  for (;;) {
    const count = readSync(fd, buffer, held, buffer.length - held, validBytes + held);
    held += count;
    const stretch = buffer.subarray(0, held);
    let at = 0;
    for (let end = stretch.indexOf(LINE_END); end >= 0; end = stretch.indexOf(LINE_END, at)) {
      const json = readLine(stretch.subarray(at, end));
      if (json === null) return { validBytes: validBytes + at, bytes: fstatSync(fd).size };
      // A complete line of a kind that this version does not know is no torn tail, so reading goes on.
      const parsed = about.schema.safeParse(json.value);
      if (parsed.success) about.onRecord(parsed.data, validBytes + at);
      at = end + 1;
    }
    validBytes += at;
    if (count === 0) return { validBytes, bytes: validBytes + held - at };
    if (at === 0 && held === buffer.length) buffer = Buffer.concat([stretch], 2 * held);
    else buffer.copyWithin(0, at, held);
    held -= at;
    await nextTurn();
  }
}

/** Longest line that `readRecord` reads. */
const MOST_LINE_BYTES = 16 * 1024;
/** Shared by all calls, since it holds nothing between two of them. */
const lineBuffer = Buffer.allocUnsafe(MOST_LINE_BYTES);

/** Returns the record whose line begins at `at`; null when none does. */
export function readRecord<T>(fd: number, about: { schema: z.ZodType<T>; at: number }): T | null {
  const stretch = lineBuffer.subarray(0, readSync(fd, lineBuffer, 0, lineBuffer.length, about.at));
  const end = stretch.indexOf(LINE_END);
  const json = end < 0 ? null : readLine(stretch.subarray(0, end));
  const parsed = json === null ? null : about.schema.safeParse(json.value);
  return parsed?.success === true ? parsed.data : null;
}

function readLine(line: Buffer): { value: unknown } | null {
  const json = line.subarray(9);
  if (line.length < 10 || line[8] !== 32) return null;
  if (line.subarray(0, 8).toString("latin1") !== crc32Hex(json)) return null;
  return { value: JSON.parse(json.toString("utf8")) };
}
