import { execFile } from "node:child_process";
import { mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { promisify } from "node:util";

/** Returns the files that the system's tar extracts from an archive, sorted by path. For tests. */
export async function listTar(archive: Uint8Array): Promise<{ path: string; sizeBytes: number }[]> {
  const folder = await mkdtemp(join(tmpdir(), "tidemark-tar-"));
  try {
    const file = join(folder, "archive.tar");
    const out = await mkdtemp(join(folder, "out-"));
    await writeFile(file, archive);
    await promisify(execFile)("tar", ["-xf", file, "-C", out]);
    const found = await readdir(out, { recursive: true, withFileTypes: true });
    const files = found.filter((one) => one.isFile()).map((one) => join(one.parentPath, one.name));
    const listed = await Promise.all(
      files.map(async (path) => ({ path: relative(out, path), sizeBytes: (await stat(path)).size })),
    );
    return listed.sort((a, b) => (a.path < b.path ? -1 : 1));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
