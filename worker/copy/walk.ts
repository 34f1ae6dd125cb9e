import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { diskFault } from "../engine/disk-fault.ts";
import { identityOf, type FileIdentity } from "../engine/identity.ts";

export interface FoundFile {
  /** `/`-separated, relative to the folder. */
  relative: string;
  path: string;
  identity: FileIdentity;
}

/** Every file under a folder, sorted by path. A link to a file counts as that file; linked folders are not entered. */
export async function walkFolder(folder: string): Promise<FoundFile[]> {
  const found: FoundFile[] = [];
  const enter = async (relative: string) => {
    for (const entry of await readdir(join(folder, relative), { withFileTypes: true })) {
      const below = relative === "" ? entry.name : `${relative}/${entry.name}`;
      if (entry.isDirectory()) {
        await enter(below);
        continue;
      }
      const path = join(folder, below);
      const stats = await stat(path, { bigint: true });
      if (stats.isFile()) found.push({ relative: below, path, identity: identityOf(stats) });
    }
  };
  try {
    await enter("");
  } catch (error) {
    throw diskFault(error, { op: "read", subject: folder, otherwise: "READ_FAILED" });
  }
  return found.sort((a, b) => (a.relative < b.relative ? -1 : 1));
}
