import { statSync, type Dirent } from "node:fs";
import { opendir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Fault } from "#protocol/faults/fault.ts";
import { atOnce } from "#worker/base/adaptive-sync-io.ts";
import { diskFault } from "#worker/base/disk-fault.ts";
import { identityOf, type FileIdentity } from "#worker/base/file-identity.ts";
import { countLeftOut, type LeftOut } from "./left-out.ts";

export interface FoundFile {
  /** `/`-separated, below the folder. */
  readonly relative: string;
  readonly path: string;
  readonly sizeBytes: number;
  readonly modifiedAtMs: number;
  /** When the file was last written, renamed, or given another date. A program can set the other date, not this one. */
  readonly changedAtMs: number;
  readonly identity: FileIdentity;
}

/** What a walk does not tell as a file. */
export interface NotTold {
  /** What could not be looked at: a folder without permission, a link that leads nowhere. */
  failures: { relative: string; fault: Fault }[];
  leftOut: readonly LeftOut[];
  /**
   * Names at which, and below which, there may be files that this walk did not see: a folder that is linked, or could not be read, or is
   * empty, as one is on which nothing is mounted.
   */
  unknown: ReadonlySet<string>;
  /** Those of the unknown that were looked into, and nothing was there. */
  empty: ReadonlySet<string>;
}

/** What `stat` says of a file, with numbers that are exact. */
type Stats = Parameters<typeof identityOf>[0] & { ctimeNs: bigint };

/** `relative` lies below `folder`, which is a clean path. */
export function foundFile(folder: string, relative: string, stats: Stats): FoundFile {
  const { size, mtimeNs, ctimeNs } = stats;
  return {
    relative,
    path: join(folder, relative),
    sizeBytes: Number(size),
    modifiedAtMs: Number(mtimeNs / 1_000_000n),
    changedAtMs: Number(ctimeNs / 1_000_000n),
    identity: identityOf(stats),
  };
}

/** So many names of one folder are put in order; those of a larger one come in stretches of so many. */
const NAMES = 4_096;

/**
 * Tells every file under a folder, by their paths in order but where a folder has very many names. A link to a file counts as
 * that file; linked folders are not entered, and what is neither file nor folder is left out.
 * Faults: READ_FAILED when the folder itself cannot be read.
 */
export async function walkFolder(folder: string, onFile: (file: FoundFile) => void): Promise<NotTold> {
  const failures: NotTold["failures"] = [];
  const leftOut = countLeftOut();
  const [unknown, empty] = [new Set<string>(), new Set<string>()];
  const failed = (relative: string, error: unknown) => {
    const subject = join(folder, relative);
    const fault = diskFault(error, { op: "read", subject, otherwise: "READ_FAILED" });
    if (relative === "") throw fault;
    failures.push({ relative, fault });
    unknown.add(relative);
  };
  const statOf = async (relative: string) => {
    const path = join(folder, relative);
    try {
      return await atOnce(
        () => statSync(path, { bigint: true }),
        () => stat(path, { bigint: true }),
      );
    } catch (error) {
      failed(relative, error);
      return null;
    }
  };
  const look = async (relative: string) => {
    const stats = await statOf(relative);
    if (stats === null) return;
    if (stats.isFile()) onFile(foundFile(folder, relative, stats));
    else if (stats.isDirectory()) {
      leftOut.add("linked-folder", relative);
      unknown.add(relative);
    } else leftOut.add(stats.isFIFO() ? "pipe" : stats.isSocket() ? "socket" : "device", relative);
  };
  async function* stretchesIn(relative: string): AsyncGenerator<Dirent[]> {
    let entries: Dirent[] = [];
    try {
      for await (const entry of await opendir(join(folder, relative), { bufferSize: 256 })) {
        entries.push(entry);
        if (entries.length < NAMES) continue;
        yield entries;
        entries = [];
      }
    } catch (error) {
      failed(relative, error);
    }
    yield entries;
  }
  const enter = async (relative: string) => {
    let isEmpty = true;
    for await (const entries of stretchesIn(relative)) {
      if (entries.length > 0) isEmpty = false;
      for (const entry of entries.sort((a, b) => (orderName(a) < orderName(b) ? -1 : 1))) {
        const below = relative === "" ? entry.name : `${relative}/${entry.name}`;
        await (entry.isDirectory() ? enter(below) : look(below));
      }
    }
    // One that could not be read is unknown already.
    if (!isEmpty || relative === "" || unknown.has(relative)) return;
    leftOut.add("empty-folder", relative);
    unknown.add(relative);
    empty.add(relative);
  };
  await enter("");
  return { failures, leftOut: leftOut.all, unknown, empty };
}

/** What lies in a folder comes where its name with a `/` does. */
const orderName = (entry: Dirent): string => (entry.isDirectory() ? `${entry.name}/` : entry.name);
