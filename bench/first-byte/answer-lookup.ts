/** Enough of DNS to answer one name: stands in for a resolver that has to ask far away. */

const HEADER_BYTES = 12;
const TYPE_A = 1;
const TTL_SECONDS = 60;
/** Compression pointer to the name in the question. */
const SAME_NAME = 0xc00c;

/**
 * Answers every question for an IPv4 address with `address`, and other questions with no records. Null for anything but a
 * question.
 */
export function answerLookup(query: Buffer, address: string): Buffer | null {
  if (query.length < HEADER_BYTES || query.readUInt16BE(4) !== 1) return null;
  let at = HEADER_BYTES;
  while (at < query.length && query[at] !== 0) at += (query[at] ?? 0) + 1;
  const end = at + 5;
  if (end > query.length) return null;
  const isForAddress = query.readUInt16BE(at + 1) === TYPE_A;
  const header = Buffer.from(query.subarray(0, HEADER_BYTES));
  // Flags: response, recursion available, no error.
  header.writeUInt16BE(0x8180, 2);
  header.writeUInt16BE(isForAddress ? 1 : 0, 6);
  header.writeUInt32BE(0, 8);
  const parts = [header, query.subarray(HEADER_BYTES, end)];
  if (isForAddress) {
    const record = Buffer.alloc(16);
    record.writeUInt16BE(SAME_NAME, 0);
    record.writeUInt16BE(TYPE_A, 2);
    record.writeUInt16BE(1, 4);
    record.writeUInt32BE(TTL_SECONDS, 6);
    record.writeUInt16BE(4, 10);
    record.set(address.split(".").map(Number), 12);
    parts.push(record);
  }
  return Buffer.concat(parts);
}
