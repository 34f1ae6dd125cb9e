import { createHash, randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";

/**
 * Last step of a training program, which the program writes into a file that the worker created. The file has a header and
 * two slots that are written alternately, 64 bytes each (docs/local-api.md, "The step record"). It survives a kill of both
 * processes. Its content is untrusted: a slot that is torn, out of range, or of another run or file is ignored, and the
 * other slot counts.
 */
export interface StepRecord {
  /** Id of the file, 32 hex digits; every start of the program gets a new file. */
  id: string;
  /** Counter from 1, increased with every step that is written. */
  turn: number;
  step: number;
  /** Epoch ms, by the program's clock. */
  at: number;
}

export const STEP_RECORD_VERSION = 1;
export const STEP_RECORD_BYTES = 192;
const PART_BYTES = 64;
const CRC_AT = 60;
const HEADER_MAGIC = "TMSTEP";
const SLOT_MAGIC = "TMST";
const MOST_STEP = 999_999_999_999n;
/** The last ms of the year 9999. */
const MOST_AT = 253_402_300_799_999n;

/** Returns the content of a new file for a run, with empty slots. */
export function newStepRecord(run: string): Buffer {
  const bytes = Buffer.alloc(STEP_RECORD_BYTES);
  bytes.write(HEADER_MAGIC, 0, "latin1");
  bytes.writeUInt16LE(STEP_RECORD_VERSION, 6);
  randomBytes(16).copy(bytes, 8);
  digestOf(run).copy(bytes, 24);
  bytes.writeUInt32LE(crc32(bytes.subarray(0, CRC_AT)), CRC_AT);
  return bytes;
}

/** Returns the id in the header of a run's file; null when the header is invalid, or of another run or version. */
export function readHeader(bytes: Buffer, run: string): string | null {
  const header = bytes.subarray(0, PART_BYTES);
  const isOurs =
    isWhole(header, HEADER_MAGIC) &&
    header.readUInt16LE(6) === STEP_RECORD_VERSION &&
    header.subarray(24, 56).equals(digestOf(run));
  return isOurs ? header.toString("hex", 8, 24) : null;
}

/** Returns the last step written; null when no slot is valid. */
export function parseStepRecord(bytes: Buffer, run: string): StepRecord | null {
  const id = readHeader(bytes, run);
  if (id === null) return null;
  const slots = [PART_BYTES, 2 * PART_BYTES].map((at) => parseSlot(bytes.subarray(at, at + PART_BYTES), { id, run }));
  return slots.reduce((best, slot) => (slot !== null && slot.turn > (best?.turn ?? 0) ? slot : best), null);
}

function parseSlot(slot: Buffer, { id, run }: { id: string; run: string }): StepRecord | null {
  if (!isWhole(slot, SLOT_MAGIC) || slot.readUInt16LE(4) !== STEP_RECORD_VERSION) return null;
  const isOurs = slot.toString("hex", 32, 48) === id && slot.subarray(48, 56).equals(digestOf(run).subarray(0, 8));
  const turn = slot.readBigUInt64LE(8);
  const step = slot.readBigUInt64LE(16);
  const at = slot.readBigUInt64LE(24);
  const isInRange = turn >= 1n && turn <= BigInt(Number.MAX_SAFE_INTEGER) && step <= MOST_STEP && at <= MOST_AT;
  return isOurs && isInRange ? { id, turn: Number(turn), step: Number(step), at: Number(at) } : null;
}

const isWhole = (part: Buffer, magic: string): boolean =>
  part.length === PART_BYTES &&
  part.toString("latin1", 0, magic.length) === magic &&
  part.readUInt32LE(CRC_AT) === crc32(part.subarray(0, CRC_AT));

const digestOf = (run: string): Buffer => createHash("sha256").update(run).digest();
