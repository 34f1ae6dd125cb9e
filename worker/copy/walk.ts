import { statSync, type Dirent } from "node:fs";
import { opendir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Fault } from "#protocol/fault.ts";
import { atOnce } from "../engine/at-once.ts";
import { diskFault } from "../engine/disk-fault.ts";
import { identityOf, type FileIdentity } from "../engine/identity.ts";

export interface FoundFile {
  /** `/`-separated, below the folder. */
  readonly relative: string;
  readonly path: string;
  readonly sizeBytes: number;
  readonly modifiedAtMs: number;
  readonly identity: FileIdentity;
}

/** What could not be looked at: a folder without permission, a link that leads nowhere. */
export interface LeftOut {
  relative: string;
  fault: Fault;
}

/** What `stat` says of a file, with numbers that are exact. */
type Stats = Parameters<typeof identityOf>[0];

/** `relative` lies below `folder`, which is a clean path. */
export function foundFile(folder: string, relative: string, stats: Stats): FoundFile {
  const { size, mtimeNs } = stats;
  const [sizeBytes, modifiedAtMs] = [Number(size), Number(mtimeNs / 1_000_000n)];
  return { relative, path: join(folder, relative), sizeBytes, modifiedAtMs, identity: identityOf(stats) };
}

/** So many names of one folder are put in order; those of a larger one come in stretches of so many. */
const NAMES = 4_096;

/**
 * Tells every file under a folder, by their paths in order but where a folder has very many names. A link to a file counts as
 * that file; linked folders are not entered.
 * Faults: READ_FAILED when the folder itself cannot be read.
 */
export async function walkFolder(folder: string, onFile: (file: FoundFile) => void): Promise<LeftOut[]> {
  const leftOut: LeftOut[] = [];
  const failed = (relative: string, error: unknown) => {
    const subject = join(folder, relative);
    const fault = diskFault(error, { op: "read", subject, otherwise: "READ_FAILED" });
    if (relative === "") throw fault;
    leftOut.push({ relative, fault });
  };
  const look = async (relative: string) => {
    try {
      const path = join(folder, relative);
      const stats = await atOnce(
        () => statSync(path, { bigint: true }),
        () => stat(path, { bigint: true }),
      );
      if (stats.isFile()) onFile(foundFile(folder, relative, stats));
    } catch (error) {
      failed(relative, error);
    }
  };
  const enterAll = async (relative: string, entries: Dirent[]) => {
    for (const entry of entries.sort((a, b) => (orderName(a) < orderName(b) ? -1 : 1))) {
      const below = relative === "" ? entry.name : `${relative}/${entry.name}`;
      await (entry.isDirectory() ? enter(below) : look(below));
    }
  };
  const enter = async (relative: string) => {
    let entries: Dirent[] = [];
    try {
      for await (const entry of await opendir(join(folder, relative), { bufferSize: 256 })) {
        entries.push(entry);
        if (entries.length < NAMES) continue;
        await enterAll(relative, entries);
        entries = [];
      }
    } catch (error) {
      failed(relative, error);
    }
    await enterAll(relative, entries);
  };
  await enter("");
  return leftOut;
}

/** What lies in a folder comes where its name with a `/` does. */
const orderName = (entry: Dirent): string => (entry.isDirectory() ? `${entry.name}/` : entry.name);
