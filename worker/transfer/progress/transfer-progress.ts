import type { Fault } from "#protocol/faults/fault.ts";
import { pieceCountFor, pieceOfPart } from "#storage/s3/plan.ts";
import type { Rows } from "#worker/base/rows.ts";
import { createPace, type Pace } from "./pace.ts";

/** Counters of one transfer, for the screen, reports to the hub and the command line. */
export interface ProgressCounters {
  readonly filesTotal: number;
  readonly bytesTotal: number;
  readonly partsTotal: number;
  /** Null without parts. */
  readonly largestPartBytes: number | null;
  /** Bytes acknowledged or in flight. */
  readonly bytesDone: number;
  /** Bytes acknowledged by the store, or verified in the file. */
  readonly bytesSure: number;
  /** Bytes that crossed the network since this process started. */
  readonly sentBytes: number;
  readonly filesDone: number;
  /** Files of `filesDone` for which the store keeps no checksum to compare with. */
  readonly filesUnverified: number;
  readonly retries: number;
  readonly currentPath: string | null;
  readonly lastFault: Fault | null;
  /** Returns the measurements so far; null while nothing has moved. */
  pace(): ReturnType<Pace["read"]>;
  /** Returns the milliseconds since a byte moved. */
  idleMs(): number;
  /** Returns one character per piece: `.` waiting, `>` moving, `#` sure. */
  pieces(): string;
  /** Returns the positions in `pieces()` with a part whose last try failed and that is not done yet. */
  triedAgain(): number[];
  moved(bytes: number): void;
  part(at: PartAt, state: PartState): void;
  fileDone(how?: "verified" | "unverified"): void;
  retried(fault: Fault): void;
}

/** `kept`: done in an earlier process, so nothing has to move; `again`: a try failed. */
export type PartState = "moving" | "waiting" | "again" | "done" | "kept";

interface PartAt {
  fileIndex: number;
  /** From 0. */
  partIndex: number;
  length: number;
  /** Bytes that cross the network for the part, if not `length`. */
  movedBytes?: number;
}

export interface CountedFile {
  path: string;
  sizeBytes: number;
  partCount: number;
}

const WAITING = 0;
const MOVING = 1;
const DONE = 2;

interface Totals {
  bytesTotal: number;
  partsTotal: number;
  largestPartBytes: number | null;
  /** Index of each file's first part. */
  starts: Uint32Array;
}

function addUp(files: Rows<CountedFile>): Totals {
  const totals: Totals = {
    bytesTotal: 0,
    partsTotal: 0,
    largestPartBytes: null,
    starts: new Uint32Array(files.length),
  };
  let index = 0;
  for (const { sizeBytes, partCount } of files) {
    totals.starts[index++] = totals.partsTotal;
    totals.partsTotal += partCount;
    totals.bytesTotal += sizeBytes;
    // All parts of a file but the last have the same size.
    if (partCount > 0) {
      totals.largestPartBytes = Math.max(totals.largestPartBytes ?? 0, Math.ceil(sizeBytes / partCount));
    }
  }
  return totals;
}

export function createProgressCounters(files: Rows<CountedFile>, now: () => number): ProgressCounters {
  const { bytesTotal, partsTotal, largestPartBytes, starts } = addUp(files);
  const states = new Uint8Array(partsTotal);
  const failed = new Set<number>();
  /** Bytes handed to the network and not yet acknowledged. */
  let flyingBytes = 0;
  let bytesSure = 0;
  let sentBytes = 0;
  let filesDone = 0;
  let filesUnverified = 0;
  let retries = 0;
  let currentPath: string | null = null;
  let lastFault: Fault | null = null;
  let lastMovedAt = now();
  const pace = createPace(now);

  return {
    filesTotal: files.length,
    bytesTotal,
    partsTotal,
    largestPartBytes,
    pace: pace.read,
    get bytesDone() {
      return Math.min(bytesTotal, bytesSure + Math.max(0, flyingBytes));
    },
    get bytesSure() {
      return bytesSure;
    },
    get sentBytes() {
      return sentBytes;
    },
    get filesDone() {
      return filesDone;
    },
    get filesUnverified() {
      return filesUnverified;
    },
    get retries() {
      return retries;
    },
    get currentPath() {
      return currentPath;
    },
    get lastFault() {
      return lastFault;
    },
    idleMs: () => now() - lastMovedAt,
    pieces: () => {
      const count = pieceCountFor(partsTotal);
      const least = new Uint8Array(count).fill(DONE);
      const most = new Uint8Array(count);
      for (const [index, state] of states.entries()) {
        const piece = pieceOfPart(index, partsTotal);
        least[piece] = Math.min(least[piece] ?? WAITING, state);
        most[piece] = Math.max(most[piece] ?? WAITING, state);
      }
      return Array.from(least, (state, piece) => (state === DONE ? "#" : most[piece] === WAITING ? "." : ">")).join("");
    },
    triedAgain: () => [...new Set([...failed].map((index) => pieceOfPart(index, partsTotal)))].sort((a, b) => a - b),
    moved: (bytes) => {
      flyingBytes += bytes;
      if (bytes > 0) {
        sentBytes += bytes;
        pace.moved(bytes);
        lastMovedAt = now();
        lastFault = null;
      }
    },
    part: ({ fileIndex, partIndex, length, movedBytes = length }, state) => {
      const index = (starts[fileIndex] ?? 0) + partIndex;
      const isDone = state === "done" || state === "kept";
      const wasDone = states[index] === DONE;
      if (wasDone && !isDone) bytesSure -= length;
      if (!wasDone && isDone) bytesSure += length;
      if (!wasDone && state === "done") {
        flyingBytes -= movedBytes;
        pace.arrived();
      }
      states[index] = isDone ? DONE : state === "moving" ? MOVING : WAITING;
      if (isDone) failed.delete(index);
      else if (state === "again") failed.add(index);
      if (state === "moving") currentPath = files.at(fileIndex)?.path ?? null;
    },
    fileDone: (how = "verified") => {
      filesDone++;
      if (how === "unverified") filesUnverified++;
    },
    retried: (fault) => {
      retries++;
      lastFault = fault;
    },
  };
}
