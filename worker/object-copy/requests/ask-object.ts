import { isFault } from "#protocol/faults/fault.ts";
import type { HttpAnswer } from "#storage/s3/answers.ts";
import { crc32FromBase64, readObjectSum } from "#storage/checksums/crc32.ts";
import { faultOfAnswer } from "#storage/answers/faults.ts";
import { childrenOf, integerOf, parseXml, textOf, type XmlElement } from "#storage/answers/xml.ts";
import type { AskObject, PartSum } from "../facts.ts";
import { askStore } from "./ask-store.ts";
import type { StoreSession } from "#worker/store-session/store-session.ts";
import { assertReadable, headObject, partBytesOf } from "./head.ts";

/** Creates the requests that a verified copy makes about an object. @throws Faults of `headObject`, CANCELLED */
export function createAskObject(storeSession: StoreSession, signal: AbortSignal): AskObject {
  return {
    head: async (key) => {
      const head = await headObject(storeSession, { key, signal });
      assertReadable(head, { op: "cp", key });
      const { sizeBytes, etag, modifiedAtMs, crc32, isOpaque } = head;
      return { sizeBytes, etag, modifiedAtMs, isOpaque, sum: crc32 === null ? null : readObjectSum(crc32) };
    },
    partBytes: (key) => partBytesOf(storeSession, { key, signal }),
    partSums: (key) => readPartSums(storeSession, { key, signal }),
  };
}

const OP = "GetObjectAttributes";
const MOST_PAGES = 11;

/** Returns the checksums of all parts; null where the store lacks GetObjectAttributes, or the key may not call it. */
async function readPartSums(
  storeSession: StoreSession,
  at: { key: string; signal: AbortSignal },
): Promise<PartSum[] | null> {
  const { key, signal } = at;
  const sums: PartSum[] = [];
  let after = 0;
  try {
    for (let pages = 0; pages < MOST_PAGES; pages++) {
      const headers = { "x-amz-object-attributes": "ObjectParts", "x-amz-part-number-marker": String(after) };
      const question = { op: OP, method: "GET", at: { key }, query: [["attributes", ""]], headers, signal } as const;
      const page = await askStore(storeSession, question, (answer) => readPage(answer, { key, after }));
      if (page === null) return null;
      sums.push(...page.sums);
      if (page.next === null) return sums.length === 0 ? null : sums;
      after = page.next;
    }
    return null;
  } catch (error) {
    if (isFault(error) && error.code !== "CANCELLED") return null;
    throw error;
  }
}

/** Reads one page; null: the store does not support the request, or the answer has no checksums. */
export function readPage(
  answer: HttpAnswer,
  about: { key: string; after: number },
): { sums: PartSum[]; next: number | null } | null {
  // A 4xx answer would be the same at every retry.
  if (answer.status >= 400 && answer.status < 500) return null;
  if (answer.status === 501) return null;
  if (answer.status !== 200) throw faultOfAnswer({ op: OP, subject: about.key, answer });
  const parsed = parseXml(answer.body);
  const [parts] = parsed === null ? [] : childrenOf(parsed.element, "ObjectParts");
  if (parts === undefined) return null;
  const sums: PartSum[] = [];
  for (const [index, part] of childrenOf(parts, "Part").entries()) {
    const sum = readPart(part, about.after + index + 1);
    if (sum === null) return null;
    sums.push(sum);
  }
  const isMore = textOf(parts, "IsTruncated")?.trim().toLowerCase() === "true";
  if (isMore && sums.length === 0) return null;
  return { sums, next: isMore ? about.after + sums.length : null };
}

/** Reads a part; null unless the part has the expected number, a length and a CRC32. */
function readPart(part: XmlElement, wanted: number): PartSum | null {
  const length = integerOf(part, "Size");
  const crc32 = crc32FromBase64(textOf(part, "ChecksumCRC32")?.trim() ?? "");
  if (integerOf(part, "PartNumber") !== wanted || length === undefined || crc32 === null) return null;
  return { length, crc32 };
}
