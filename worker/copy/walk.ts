import { statSync } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Fault } from "#protocol/fault.ts";
import { atOnce } from "../engine/at-once.ts";
import { diskFault } from "../engine/disk-fault.ts";
import { FoundFiles, type FoundFile } from "./found-file.ts";

export interface Walked {
  /** Sorted by path. */
  files: FoundFile[];
  /** What could not be looked at: a folder without permission, a link that leads nowhere. */
  failures: { relative: string; fault: Fault }[];
}

/**
 * Every file under a folder. A link to a file counts as that file; linked folders are not entered.
 * Faults: READ_FAILED when the folder itself cannot be read.
 */
export async function walkFolder(folder: string): Promise<Walked> {
  const walked: Walked = { files: [], failures: [] };
  const found = new FoundFiles(folder);
  const failed = (relative: string, error: unknown) => {
    const subject = join(folder, relative);
    const fault = diskFault(error, { op: "read", subject, otherwise: "READ_FAILED" });
    if (relative === "") throw fault;
    walked.failures.push({ relative, fault });
  };
  const look = async (relative: string) => {
    try {
      const path = join(folder, relative);
      const stats = await atOnce(
        () => statSync(path, { bigint: true }),
        () => stat(path, { bigint: true }),
      );
      if (stats.isFile()) walked.files.push(found.add(relative, stats));
    } catch (error) {
      failed(relative, error);
    }
  };
  const enter = async (relative: string) => {
    const entries = await readdir(join(folder, relative), { withFileTypes: true }).catch((error: unknown) => {
      failed(relative, error);
      return [];
    });
    for (const entry of entries) {
      const below = relative === "" ? entry.name : `${relative}/${entry.name}`;
      await (entry.isDirectory() ? enter(below) : look(below));
    }
  };
  await enter("");
  walked.files.sort((a, b) => (a.relative < b.relative ? -1 : 1));
  return walked;
}
