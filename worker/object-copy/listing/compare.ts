import { open } from "node:fs/promises";
import { Fault } from "#protocol/faults/fault.ts";
import { planParts } from "#storage/s3/plan.ts";
import { diskFault } from "#worker/base/disk-fault.ts";
import { isSameFile, readIdentity } from "#worker/base/identity.ts";
import type { StoreSession } from "#worker/store-session/store-session.ts";
import type { Entry, FileEntry, ObjectEntry } from "./entry.ts";
import { headObject, partBytesOf, type ObjectHead } from "../requests/head.ts";
import {
  createPartsDigest,
  createWholeDigest,
  guessPartBytes,
  type Algorithm,
  type PartDigest,
} from "../requests/part-digest.ts";
import { readPieces } from "../requests/read-range.ts";

/**
 * Tells whether two entries of the same size have the same bytes, at the lowest cost: by equal ETags, else by the store's
 * checksum and a reading of the file. `unknown` means that the store has nothing to compare with.
 */
export type Verdict = "same" | "differs" | "unknown";

export interface ToCompare {
  /** Store session of each side; null for a local side. */
  storeSessions: { from: StoreSession | null; to: StoreSession | null };
  from: Entry;
  to: Entry;
  signal: AbortSignal;
}

/** Compares by checksums. @throws Fault READ_FAILED, SOURCE_CHANGED, those of the store, CANCELLED */
export async function compareContent(about: ToCompare): Promise<Verdict> {
  const { storeSessions, from, to, signal } = about;
  if (from.sizeBytes !== to.sizeBytes) return "differs";
  if (from.at === "store" && to.at === "store") {
    if (storeSessions.from === null || storeSessions.to === null) throw new Fault("INTERNAL", { op: "compare" });
    if (from.etag !== null && from.etag === to.etag) return "same";
    const [a, b] = [
      await headObject(storeSessions.from, { key: from.key, signal }),
      await headObject(storeSessions.to, { key: to.key, signal }),
    ];
    return compareHeads(a, b);
  }
  const file = from.at === "local" ? from : to;
  const object = from.at === "store" ? from : to;
  const storeSession = storeSessions.from ?? storeSessions.to;
  if (storeSession === null || file.at !== "local" || object.at !== "store")
    throw new Fault("INTERNAL", { op: "compare" });
  return compareFile(storeSession, { file, object, signal });
}

function compareHeads(a: ObjectHead, b: ObjectHead): Verdict {
  if (a.sizeBytes !== b.sizeBytes) return "differs";
  if (a.crc32 !== null && b.crc32 !== null && partCountOf(a.crc32) === partCountOf(b.crc32)) {
    if (a.crc32 === b.crc32) return "same";
    // Composite checksums also differ when only the part sizes differ.
    if (partCountOf(a.crc32) <= 1) return "differs";
  }
  const [left, right] = [md5Of(a), md5Of(b)];
  if (left === null || right === null) return "unknown";
  if (left === right) return "same";
  return partCountOf(left) === 0 && partCountOf(right) === 0 ? "differs" : "unknown";
}

/** Returns the part count of a composite checksum; 0 for a checksum of the whole object. */
const partCountOf = (sum: string): number => Number(/-(\d+)$/.exec(sum)?.[1] ?? 0);

/** Returns the ETag without quotes if it may be an MD5 or an MD5 of MD5s; null otherwise. */
function md5Of(head: Pick<ObjectHead, "etag" | "isOpaque">): string | null {
  if (head.isOpaque) return null;
  return /^"([0-9a-f]{32}(?:-\d{1,5})?)"$/.exec(head.etag)?.[1] ?? null;
}

/** Files up to this size are quicker to read than to ask the store about. */
const QUICK_BYTES = 32 * 1024 * 1024;
const READ_BYTES = 1024 * 1024;

async function compareFile(
  storeSession: StoreSession,
  about: { file: FileEntry; object: ObjectEntry; signal: AbortSignal },
): Promise<Verdict> {
  const { file, object, signal } = about;
  // The listed ETag of most single-part objects is the MD5. Only equality proves anything, because an ETag may be any text.
  const isQuick = file.sizeBytes <= QUICK_BYTES && /^"[0-9a-f]{32}"$/.test(object.etag ?? "");
  if (isQuick) {
    const [md5] = await digestFile(file, [createWholeDigest("md5")], signal);
    if (`"${md5}"` === object.etag) return "same";
  }
  const head = await headObject(storeSession, { key: object.key, signal });
  if (head.sizeBytes !== file.sizeBytes) return "differs";
  const sum = head.crc32 ?? md5Of(head);
  if (sum === null) return "unknown";
  const algorithm: Algorithm = head.crc32 === null ? "md5" : "crc32";
  const partCount = partCountOf(sum);
  if (partCount === 0)
    return (await digestFile(file, [createWholeDigest(algorithm)], signal))[0] === sum ? "same" : "differs";
  const told = partCount === 1 ? file.sizeBytes : await partBytesOf(storeSession, { key: object.key, signal });
  const isTold = told !== null && Math.ceil(file.sizeBytes / told) === partCount;
  const planned = planParts({ sizeBytes: file.sizeBytes, traits: storeSession.access.traits }).partBytes;
  const guesses = isTold ? [told] : guessPartBytes({ sizeBytes: file.sizeBytes, partCount, planned });
  if (guesses.length === 0) return "unknown";
  const digests = guesses.map((partBytes) => createPartsDigest(algorithm, partBytes));
  if ((await digestFile(file, digests, signal)).includes(sum)) return "same";
  // With a guessed part size, a different checksum may only mean a wrong guess.
  return isTold ? "differs" : "unknown";
}

async function* readFilePieces(file: FileEntry, signal: AbortSignal): AsyncGenerator<Buffer> {
  const about = { op: "read", subject: file.path, otherwise: "READ_FAILED" } as const;
  const handle = await open(file.path, "r").catch((error: unknown) => {
    throw diskFault(error, about);
  });
  const buffer = Buffer.allocUnsafe(Math.min(READ_BYTES, Math.max(1, file.sizeBytes)));
  try {
    for (let at = 0; at < file.sizeBytes;) {
      if (signal.aborted) throw new Fault("CANCELLED");
      const wanted = Math.min(READ_BYTES, file.sizeBytes - at);
      const { bytesRead } = await handle.read(buffer, 0, wanted, at).catch((error: unknown) => {
        throw diskFault(error, about);
      });
      if (bytesRead === 0) throw new Fault("SOURCE_CHANGED", { ...about, detail: "it became shorter" });
      yield buffer.subarray(0, bytesRead);
      at += bytesRead;
    }
  } finally {
    await handle.close();
  }
  if (!isSameFile(await readIdentity(file.path), file.identity, file.path)) throw new Fault("SOURCE_CHANGED", about);
}

async function digestFile(file: FileEntry, digests: readonly PartDigest[], signal: AbortSignal): Promise<string[]> {
  for await (const piece of readFilePieces(file, signal)) for (const digest of digests) digest.add(piece);
  return digests.map((digest) => digest.end());
}

/** Compares byte by byte. @throws Faults of `compareContent`, OBJECT_CHANGED */
export async function compareBytes(about: ToCompare): Promise<Verdict> {
  const { from, to, storeSessions, signal } = about;
  if (from.sizeBytes !== to.sizeBytes) return "differs";
  const right = piecesOf(to, storeSessions.to, signal);
  try {
    let rest: Buffer = Buffer.alloc(0);
    for await (const piece of piecesOf(from, storeSessions.from, signal)) {
      for (let at = 0; at < piece.length;) {
        if (rest.length === 0) rest = (await right.next()).value ?? Buffer.alloc(0);
        const length = Math.min(rest.length, piece.length - at);
        if (length === 0 || !rest.subarray(0, length).equals(piece.subarray(at, at + length))) return "differs";
        rest = rest.subarray(length);
        at += length;
      }
    }
    return "same";
  } finally {
    await right.return(undefined);
  }
}

function piecesOf(entry: Entry, storeSession: StoreSession | null, signal: AbortSignal): AsyncGenerator<Buffer, void> {
  if (entry.at === "local") return readFilePieces(entry, signal);
  if (storeSession === null) throw new Fault("INTERNAL", { op: "compare" });
  const { key, sizeBytes, etag } = entry;
  return readPieces(storeSession, { key, etag, offset: 0, length: sizeBytes, ahead: 2, signal });
}
