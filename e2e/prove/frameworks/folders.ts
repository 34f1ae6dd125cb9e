import { createHash } from "node:crypto";
import { lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";

/** A file or link in a folder, with its content. */
export interface Entry {
  readonly kind: "file" | "link";
  /** SHA-256 of a file, or the target of a link. */
  readonly content: string;
  readonly sizeBytes: number;
  readonly writtenAt: number;
}

export type Folder = ReadonlyMap<string, Entry>;

/** Reads every file and link below a folder. Entries that vanish meanwhile are left out. */
export function readFolder(root: string): Folder {
  const found = new Map<string, Entry>();
  const walk = (below: string): void => {
    for (const name of namesIn(join(root, below))) {
      const path = below === "" ? name : `${below}/${name}`;
      try {
        const stat = lstatSync(join(root, path));
        const { size: sizeBytes, mtimeMs: writtenAt } = stat;
        if (stat.isDirectory()) walk(path);
        else if (stat.isSymbolicLink())
          found.set(path, { kind: "link", content: readlinkSync(join(root, path)), sizeBytes, writtenAt });
        else if (stat.isFile()) {
          const content = createHash("sha256")
            .update(readFileSync(join(root, path)))
            .digest("hex");
          found.set(path, { kind: "file", content, sizeBytes, writtenAt });
        }
      } catch {
        // The program or a rotation has removed it.
      }
    }
  };
  walk("");
  return found;
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).toSorted();
  } catch {
    return [];
  }
}
