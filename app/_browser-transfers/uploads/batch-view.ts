import type { FaultData } from "#protocol/faults/fault.ts";
import { cutEvenly } from "#storage/s3/plan.ts";
import { byteMap, percentOf, type Stretch } from "../byte-map.ts";
import type { FileState, KeptBatch, KeptFile } from "./kept.ts";

/** Describes an upload to all tabs, whichever of them sends it. Plain data, because it is posted between tabs. */

/** `running`: bytes move or will; `needs-files`: the person must act (`Asked`); `ended`: nothing is left to do. */
export type BatchState = "running" | "paused" | "needs-files" | "ended";

/** Action needed from the person: permission to read known files (`leave`), or choosing files or the folder again (`choice`). */
export interface Asked {
  for: "leave" | "choice";
  /** Kind of thing to choose again. */
  pick: "folder" | "files";
  /** Name of the folder or of the only file; null for several. */
  name: string | null;
}

export interface BatchView {
  id: string;
  state: BatchState;
  profileId: string;
  profileName: string;
  bucket: string;
  prefix: string;
  ifThere: KeptBatch["ifThere"];
  createdAt: number;
  /** Name of the file when there is only one. */
  only: string | null;
  files: Record<FileState, number>;
  filesTotal: number;
  bytesTotal: number;
  bytesDone: number;
  bytesPerSecond: number;
  /** Requests in progress. */
  connections: number;
  retries: number;
  /** Parts that were in the store before a reload or pause. */
  reusedParts: number;
  /** Piece map: `.` waiting, `>` moving, `#` acknowledged. */
  pieces: string;
  /** Fault that stopped the whole upload. */
  fault: FaultData | null;
  /** Null unless the state is `needs-files`. */
  asked: Asked | null;
}

/** A file in the list of its upload. */
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

/** Returns whether a file needs nothing more. */
export const isSettled = (state: FileState): boolean => state === "done" || state === "same";

/** Returns the stretches of a file for the map: its parts when those are known. */
function stretchesOf(file: MappedFile, parts: readonly string[] | null): Stretch[] {
  const { sizeBytes, partBytes, state } = file;
  const isMoving = state === "running";
  if (isSettled(state)) return [{ bytes: sizeBytes, doneBytes: sizeBytes, isMoving: false }];
  if (parts === null || partBytes === null || parts.length < 2)
    return [{ bytes: sizeBytes, doneBytes: file.doneBytes ?? 0, isMoving }];
  return cutEvenly(sizeBytes, partBytes).map(({ partNumber, length }) => {
    const sign = parts[partNumber - 1];
    return { bytes: length, doneBytes: sign === "#" ? length : 0, isMoving: sign === ">" };
  });
}

type MappedFile = Pick<KeptFile, "state" | "sizeBytes" | "partBytes" | "doneBytes" | "index">;

/** Returns the piece map of an upload, by bytes. `partsOf` returns the part states of a file; null while unknown. */
export const piecesOf = (files: readonly MappedFile[], partsOf: (index: number) => readonly string[] | null): string =>
  byteMap(files.flatMap((file) => stretchesOf(file, partsOf(file.index))));

/** Returns what to ask for, by what the missing files have in common. */
export function askedFor(files: readonly Pick<KeptFile, "path">[]): Asked {
  const [first, ...others] = files;
  const folders = new Set(files.map(({ path }) => (path.includes("/") ? path.slice(0, path.indexOf("/")) : null)));
  const [folder = null] = folders;
  if (!folders.has(null)) return { for: "choice", pick: "folder", name: folders.size === 1 ? folder : null };
  return { for: "choice", pick: "files", name: others.length === 0 ? (first?.path ?? null) : null };
}

/** Returns the progress prefix of the page title while bytes move; empty otherwise. */
export function titleMark(batches: readonly BatchView[]): string {
  const running = batches.filter(({ state }) => state === "running");
  const total = running.reduce((sum, batch) => sum + batch.bytesTotal, 0);
  if (running.length === 0) return "";
  const done = running.reduce((sum, batch) => sum + batch.bytesDone, 0);
  return `${percentOf(done, total)}% ↑ `;
}
