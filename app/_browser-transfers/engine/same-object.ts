import type { ObjectFacts } from "#protocol/buckets/browser-transfers.ts";
import { combineCrc32, sumOfSums } from "#storage/checksums/combine-crc32.ts";
import { cutEvenly, partBytesThatFit } from "#storage/s3/plan.ts";

/**
 * Returns whether an existing object equals the chosen file, by its size and the checksum that the store keeps. Without a
 * stored checksum the answer is false.
 */
export async function isSameObject(
  file: Blob,
  about: { found: ObjectFacts; partBytes: number },
  sum: (blob: Blob) => Promise<string>,
): Promise<boolean> {
  const { found, partBytes } = about;
  if (found.sizeBytes !== file.size || found.sum === null) return false;
  const { crc32, partCount } = found.sum;
  const inParts = partCount === null ? null : (partBytesThatFit(file.size, partCount) ?? partBytes);
  const parts = cutEvenly(file.size, inParts ?? partBytes);
  if (inParts !== null && parts.length !== partCount) return false;
  const sums: string[] = [];
  for (const { offset, length } of parts) sums.push(await sum(file.slice(offset, offset + length)));
  if (inParts !== null) return sumOfSums(sums) === crc32;
  const whole = parts.reduce((before, part, index) => combineCrc32(before, sums[index] ?? "", part.length), "00000000");
  return whole === crc32;
}
