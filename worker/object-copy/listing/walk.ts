import { readlinkSync, statSync, type Dirent } from "node:fs";
import { opendir, stat } from "node:fs/promises";
import { join } from "node:path";
import { Fault } from "#protocol/faults/fault.ts";
import { atOnce } from "#worker/base/adaptive-sync-io.ts";
import { codeOf, diskFault } from "#worker/base/disk-fault.ts";
import { identityOf, type FileIdentity } from "#worker/base/file-identity.ts";
import { countLeftOut, type LeftOut } from "./left-out.ts";

export interface FoundFile {
  /** `/`-separated, below the folder. */
  readonly relative: string;
  readonly path: string;
  readonly sizeBytes: number;
  readonly modifiedAtMs: number;
  /** ctime: when the file was last written, renamed or given another mtime. Unlike mtime, programs cannot set it. */
  readonly changedAtMs: number;
  readonly identity: FileIdentity;
}

/** Entries that a walk does not report as files. */
export interface Unreported {
  /** Entries that could not be read: a folder without permission, a dangling link. */
  failures: { relative: string; fault: Fault }[];
  leftOut: readonly LeftOut[];
  /**
   * Names at and below which there may be files that this walk did not see: folders that are linked or unreadable, and empty
   * ones, which may be mount points without their mount.
   */
  unknown: ReadonlySet<string>;
  /** The names in `unknown` that are empty folders. */
  empty: ReadonlySet<string>;
}

/** Result of `stat` with `bigint: true`. */
type Stats = Parameters<typeof identityOf>[0] & { ctimeNs: bigint };

/** Makes a found file. `relative` lies below `folder`, which must be a normalized path. */
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

/** Number of names of a folder that are sorted together; a larger folder comes in several sorted groups. */
const NAMES = 4_096;

/**
 * Reports every file below a folder, sorted by path except in folders with very many names. A link to a file counts as that
 * file; linked folders are not entered, and entries that are neither file nor folder are left out.
 * @throws Fault READ_FAILED when the folder itself cannot be read
 */
export async function walkFolder(folder: string, onFile: (file: FoundFile) => void): Promise<Unreported> {
  const failures: Unreported["failures"] = [];
  const leftOut = countLeftOut();
  const [unknown, empty] = [new Set<string>(), new Set<string>()];
  const failed = (relative: string, error: unknown) => {
    const subject = join(folder, relative);
    const disk = diskFault(error, { op: "read", subject, otherwise: "READ_FAILED" });
    if (relative === "") throw disk;
    const fault = linkFault(subject, error) ?? disk;
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
    // An unreadable folder is in `unknown` already.
    if (!isEmpty || relative === "" || unknown.has(relative)) return;
    leftOut.add("empty-folder", relative);
    unknown.add(relative);
    empty.add(relative);
  };
  await enter("");
  return { failures, leftOut: leftOut.all, unknown, empty };
}

/** Returns the Fault of a link that leads nowhere, or in a circle; null for anything else. */
function linkFault(path: string, cause: unknown): Fault | null {
  const code = codeOf(cause);
  if (code !== "ENOENT" && code !== "ELOOP") return null;
  try {
    const to = readlinkSync(path);
    const detail = code === "ELOOP" ? "it is a link that leads in a circle" : `it is a link to ${to}, where nothing is`;
    return new Fault("READ_FAILED", { op: "read", subject: path, detail, cause });
  } catch {
    // It was no link, or was removed meanwhile.
    return null;
  }
}

/** Returns the sort key of an entry: a folder sorts with a trailing `/`, as the paths of its files do. */
const orderName = (entry: Dirent): string => (entry.isDirectory() ? `${entry.name}/` : entry.name);
