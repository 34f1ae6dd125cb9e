import { randomUUID } from "node:crypto";
import * as z from "zod";
import { crc32Hex, etag } from "#protocol/checkpoint/checkpoint.ts";
import { storeChecksum, type StoreChecksum } from "#protocol/wire/store-checksum.ts";
import { removeOwned } from "#worker/base/disk/change-disk.ts";
import { isSameFile } from "#worker/base/identity.ts";
import { fileIdentity, type FileIdentity } from "#worker/base/file-identity.ts";
import { openJournal } from "#worker/base/journal.ts";
import { hasSums } from "./read-part.ts";
import { SentPlaces } from "./sent-places.ts";
import type { BegunUpload, SendMemory, SentPart } from "./send-job.ts";

/**
 * Record of the upload journal. For each object it keeps the upload id, the acknowledged parts, and the file that they were
 * read from.
 */
const record = z.discriminatedUnion("t", [
  z.object({
    t: z.literal("file"),
    key: z.string(),
    identity: fileIdentity,
    partBytes: z.number(),
    nonce: z.string(),
    /** Epoch ms. */
    at: z.number().optional(),
  }),
  z.object({
    t: z.literal("begin"),
    key: z.string(),
    uploadId: z.string(),
    checksum: storeChecksum.optional(),
    lostWithinMs: z.number().optional(),
  }),
  z.object({ t: z.literal("part"), key: z.string(), n: z.number(), etag, crc32: crc32Hex }),
  /** `crc32`: of the only part, which has no record of its own. */
  z.object({ t: z.literal("sent"), key: z.string(), etag, crc32: crc32Hex.optional() }),
]);

type Line = z.infer<typeof record>;

interface Remembered {
  identity: FileIdentity;
  partBytes: number;
  nonce: string;
  uploadId: string | null;
  checksum: StoreChecksum | null;
  lostWithinMs: number | null;
  /** Time of the first record of the file, epoch ms. */
  atMs: number | null;
  isFresh: boolean;
  parts: Map<number, SentPart>;
  sentEtag: string | null;
}

interface FileAbout {
  key: string;
  /** Path of the file. Without a path only `identity` tells whether the file changed. */
  path?: string;
  identity: FileIdentity;
  partBytes: number;
}

export interface SendJournal {
  /**
   * Returns the memory of one object. A file that changed, or another part size, starts from nothing; `abandon` is then first
   * called with the id of the unfinished upload.
   */
  file(
    about: FileAbout & { abandon?: (uploadId: string) => Promise<void> },
  ): Promise<{ memory: SendMemory; nonce: string }>;
  /**
   * Records all of these files that are not known yet in one write, so that `file` need not write later. Must not run while
   * `file` is called for one of them.
   */
  ahead(files: readonly FileAbout[]): Promise<void>;
  /** Removes an object that nobody asks about again from memory, which may hold a million. The disk keeps its records. */
  letGo(key: string): void;
  /** Returns the uploads that were begun and not finished. */
  unfinished(): { key: string; uploadId: string }[];
  close(): Promise<void>;
  /** Closes and deletes the journal: nothing is left to resume. */
  remove(): Promise<void>;
}

const newFile = ({ key, identity, partBytes }: FileAbout): Line => ({
  t: "file",
  key,
  identity,
  partBytes,
  nonce: randomUUID().replaceAll("-", ""),
  at: Date.now(),
});

/** Opens a journal and reads its records. Faults: NO_SPACE, WRITE_FAILED, READ_FAILED. */
export async function openSendJournal(path: string): Promise<SendJournal> {
  const files = new Map<string, Remembered>();
  const places = new SentPlaces();
  const journal = await openJournal(path, record, sortOut(files, places));
  /** Returns the state of an object that an earlier process finished. */
  const recall = (key: string): Remembered | undefined => {
    const place = places.find(key);
    if (place === null) return undefined;
    const lines = [journal.recordAt(place.fileAt), journal.recordAt(place.sentAt)];
    const found = new Map<string, Remembered>();
    for (const line of lines) if (line?.key === key) apply(found, line);
    return found.get(key);
  };
  const write = async (line: Line) => {
    apply(files, line);
    await journal.append(line);
  };
  return {
    file: async ({ key, path, identity, partBytes, abandon }) => {
      const known = files.get(key) ?? recall(key);
      if (known !== undefined) files.set(key, known);
      const isKnown = known?.partBytes === partBytes && (await isAsSent(known, { identity, path }));
      if (!isKnown) {
        if (known !== undefined && known.uploadId !== null && known.sentEtag === null) await abandon?.(known.uploadId);
        await write(newFile({ key, identity, partBytes }));
      }
      const file = files.get(key);
      if (file === undefined) throw new Error("the journal lost a file it was just told of");
      return { memory: new Memory(file, { key, wasKnown: isKnown, write }), nonce: file.nonce };
    },
    ahead: async (wanted) => {
      const lines = wanted.filter(({ key }) => !files.has(key) && places.find(key) === null).map(newFile);
      if (lines.length > 0) await journal.appendAll(lines);
      for (const line of lines) apply(files, line);
    },
    letGo: (key) => void files.delete(key),
    unfinished: () =>
      [...files].flatMap(([key, { uploadId, sentEtag }]) =>
        uploadId === null || sentEtag !== null ? [] : [{ key, uploadId }],
      ),
    close: journal.close,
    remove: async () => {
      await journal.close();
      await removeOwned("journal", path);
    },
  };
}

/**
 * Returns whether the sent bytes are those of the file. If only the time differs, and the disk may have caused that, compares
 * the file with the checksums of what was sent.
 */
async function isAsSent(
  { identity: before, parts, partBytes, sentEtag }: Remembered,
  { identity, path }: { identity: FileIdentity; path: string | undefined },
): Promise<boolean> {
  if (identity.mtimeNs === before.mtimeNs) return isSameFile(identity, before, path ?? "");
  if (path === undefined || !isSameFile(identity, before, path)) return false;
  if (sentEtag !== null && parts.size < Math.ceil(identity.sizeBytes / partBytes)) return false;
  const sent = parts.entries().map(([number, { crc32 }]) => [number - 1, crc32] as const);
  return hasSums({ path, sizeBytes: identity.sizeBytes, partBytes }, sent);
}

/**
 * Returns a function that takes the records of the journal. For objects that were finished in one request it keeps only the
 * offsets of their records, because there may be a million.
 */
function sortOut(files: Map<string, Remembered>, places: SentPlaces): (line: Line, at: number) => void {
  const filesAt = new Map<string, number>();
  return (line, at) => {
    apply(files, line);
    const { key } = line;
    if (line.t === "file") filesAt.set(key, at);
    if (line.t !== "sent" || line.crc32 === undefined) return;
    if (!files.has(key)) places.sentAgain(key, at);
    if (files.get(key)?.uploadId !== null) return;
    const fileAt = filesAt.get(key);
    if (fileAt !== undefined && places.put(key, { fileAt, sentAt: at })) files.delete(key);
    filesAt.delete(key);
  };
}

interface MemoryAbout {
  key: string;
  wasKnown: boolean;
  write(line: Line): Promise<void>;
}

/** Recorded state of one file. */
class Memory implements SendMemory {
  readonly #file: Remembered;
  readonly #about: MemoryAbout;

  constructor(file: Remembered, about: MemoryAbout) {
    this.#file = file;
    this.#about = about;
  }

  get uploadId() {
    return this.#file.uploadId;
  }

  get checksum() {
    return this.#file.checksum;
  }

  get lostWithinMs() {
    return this.#file.lostWithinMs;
  }

  get isFresh() {
    return this.#file.isFresh;
  }

  get parts() {
    return this.#file.parts;
  }

  get sentEtag() {
    return this.#file.sentEtag;
  }

  async begin({ uploadId, checksum, firstTryMs }: BegunUpload) {
    const file = this.#file;
    const { key, wasKnown, write } = this.#about;
    // An earlier process that knew the file may have begun an upload and been killed before the answer came.
    const since = Math.min(
      firstTryMs ?? Infinity,
      wasKnown && file.uploadId === null ? (file.atMs ?? Infinity) : Infinity,
    );
    const lost = Number.isFinite(since) ? { lostWithinMs: Math.max(0, Date.now() - since) } : {};
    await write({ t: "begin", key, uploadId, checksum, ...lost });
    file.isFresh = true;
  }

  acknowledge(n: number, part: SentPart) {
    const { key, write } = this.#about;
    return write({ t: "part", key, n, ...part });
  }

  finish(sentEtag: string, crc32?: string) {
    const { key, write } = this.#about;
    return write({ t: "sent", key, etag: sentEtag, ...(crc32 === undefined ? {} : { crc32 }) });
  }
}

function apply(files: Map<string, Remembered>, line: Line): void {
  if (line.t === "file") {
    const { identity, partBytes, nonce, at = null } = line;
    files.set(line.key, {
      identity,
      partBytes,
      nonce,
      uploadId: null,
      checksum: null,
      lostWithinMs: null,
      atMs: at,
      isFresh: false,
      parts: new Map(),
      sentEtag: null,
    });
    return;
  }
  const file = files.get(line.key);
  if (file === undefined) return;
  if (line.t === "begin") {
    file.uploadId = line.uploadId;
    file.checksum = line.checksum ?? null;
    file.lostWithinMs = line.lostWithinMs ?? null;
    file.parts.clear();
  } else if (line.t === "part") {
    file.parts.set(line.n, { etag: line.etag, crc32: line.crc32 });
  } else {
    file.sentEtag = line.etag;
    if (line.crc32 !== undefined) file.parts.set(1, { etag: line.etag, crc32: line.crc32 });
  }
}
