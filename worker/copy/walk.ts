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
    if (stats?.isFile() === true) onFile(foundFile(folder, relative, stats));
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
    for await (const entries of stretchesIn(relative)) {
      for (const entry of entries.sort((a, b) => (orderName(a) < orderName(b) ? -1 : 1))) {
        const below = relative === "" ? entry.name : `${relative}/${entry.name}`;
        await (entry.isDirectory() ? enter(below) : look(below));
      }
    }
  };
  await enter("");
  return leftOut;
}

/** What lies in a folder comes where its name with a `/` does. */
const orderName = (entry: Dirent): string => (entry.isDirectory() ? `${entry.name}/` : entry.name);
