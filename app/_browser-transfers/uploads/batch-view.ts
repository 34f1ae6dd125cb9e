import type { FaultData } from "#protocol/faults/fault.ts";
import { cutEvenly } from "#storage/s3/plan.ts";
import { byteMap, percentOf, type Stretch } from "../byte-map.ts";
import type { FileState, KeptBatch, KeptFile } from "./kept.ts";

/** What every tab shows of an upload, whichever of them sends it. Plain data: it crosses between tabs. */

/** `running`: bytes move or will; `needs-files`: the person is asked (`Asked`); `ended`: nothing is left to do. */
export type BatchState = "running" | "paused" | "needs-files" | "ended";

/** What goes on only with the person: leave to read what is known, or the files or the folder once more. */
export interface Asked {
  for: "leave" | "choice";
  /** What is chosen again. */
  pick: "folder" | "files";
  /** The name of the folder or of the only file; null where there are several. */
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
  /** Null unless the state is `needs-files`. */
  asked: Asked | null;
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

/** A file as a map draws it: by its parts where those are known. */
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

/** The piece map of an upload, by bytes. `partsOf` gives the signs of a file's parts while they are known. */
export const piecesOf = (files: readonly MappedFile[], partsOf: (index: number) => readonly string[] | null): string =>
  byteMap(files.flatMap((file) => stretchesOf(file, partsOf(file.index))));

/** What to ask the person for, by what the files that are missing have in common. */
export function askedFor(files: readonly Pick<KeptFile, "path">[]): Asked {
  const [first, ...others] = files;
  const folders = new Set(files.map(({ path }) => (path.includes("/") ? path.slice(0, path.indexOf("/")) : null)));
  const [folder = null] = folders;
  if (!folders.has(null)) return { for: "choice", pick: "folder", name: folders.size === 1 ? folder : null };
  return { for: "choice", pick: "files", name: others.length === 0 ? (first?.path ?? null) : null };
}

/** What stands before the title of the page while bytes move; empty otherwise. */
export function titleMark(batches: readonly BatchView[]): string {
  const running = batches.filter(({ state }) => state === "running");
  const total = running.reduce((sum, batch) => sum + batch.bytesTotal, 0);
  if (running.length === 0) return "";
  const done = running.reduce((sum, batch) => sum + batch.bytesDone, 0);
  return `${percentOf(done, total)}% ↑ `;
}
