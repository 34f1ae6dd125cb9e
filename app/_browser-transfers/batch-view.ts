import type { FaultData } from "#protocol/fault.ts";
import { pieceCountFor, pieceOfPart } from "#storage/plan.ts";
import type { FileState, KeptBatch, KeptFile } from "./kept.ts";

/** What every tab shows of an upload, whichever of them sends it. Plain data: it crosses between tabs. */

/** `running`: bytes move or will; `paused`; `waiting`: another tab or the person is needed; `ended`: nothing is left to do. */
export type BatchState = "running" | "paused" | "needs-files" | "ended";

export interface BatchView {
  id: string;
  state: BatchState;
  profileId: string;
  profileName: string;
  bucket: string;
  prefix: string;
  ifThere: KeptBatch["ifThere"];
  createdAt: number;
  /** The name, where there is one file. */
  only: string | null;
  files: Record<FileState, number>;
  filesTotal: number;
  bytesTotal: number;
  bytesDone: number;
  bytesPerSecond: number;
  /** Requests under way. */
  connections: number;
  retries: number;
  /** Parts that the store already had from before a reload or a pause. */
  reusedParts: number;
  /** One sign per piece, as everywhere: `.` waits, `>` moves, `#` is acknowledged. */
  pieces: string;
  /** What stopped all of it. */
  fault: FaultData | null;
}

/** A file as its tab lists it. */
export interface FileView {
  id: string;
  path: string;
  sizeBytes: number;
  bytesDone: number;
  state: FileState;
  fault: FaultData | null;
}

export const countStates = (files: Iterable<Pick<KeptFile, "state">>): Record<FileState, number> => {
  const counts = { waiting: 0, running: 0, done: 0, same: 0, failed: 0, "needs-file": 0 };
  for (const { state } of files) counts[state]++;
  return counts;
};

/** A file is settled when it needs nothing more. */
export const isSettled = (state: FileState): boolean => state === "done" || state === "same";

const SIGNS: Record<FileState, string> = {
  waiting: ".",
  running: ">",
  done: "#",
  same: "#",
  failed: ".",
  "needs-file": ".",
};

/** The piece map of several things in a row: a piece moves when one of its things does, and is safe when all are. */
export function foldPieces(signs: readonly string[]): string {
  const pieces = Array.from({ length: pieceCountFor(signs.length) }, () => ({ isMoving: false, isSafe: true }));
  for (const [index, sign] of signs.entries()) {
    const piece = pieces[pieceOfPart(index, signs.length)];
    if (piece === undefined) continue;
    if (sign === ">") piece.isMoving = true;
    if (sign !== "#") piece.isSafe = false;
  }
  return pieces.map(({ isMoving, isSafe }) => (isSafe ? "#" : isMoving ? ">" : ".")).join("");
}

/** By parts where there is one file, by files where there are more. */
export const piecesOf = (files: readonly Pick<KeptFile, "state">[], parts: readonly string[] | null): string =>
  foldPieces(files.length === 1 && parts !== null ? parts : files.map(({ state }) => SIGNS[state]));

/** What stands before the title of the page while bytes move; empty otherwise. */
export function titleMark(batches: readonly BatchView[]): string {
  const running = batches.filter(({ state }) => state === "running");
  const total = running.reduce((sum, batch) => sum + batch.bytesTotal, 0);
  if (running.length === 0) return "";
  const done = running.reduce((sum, batch) => sum + batch.bytesDone, 0);
  return `${total === 0 ? 0 : Math.floor((done / total) * 100)}% ↑ `;
}
