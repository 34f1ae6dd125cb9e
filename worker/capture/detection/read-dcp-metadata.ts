import { readFile } from "node:fs/promises";
import { filePath } from "#protocol/base/names.ts";
import { MOST_NEEDED, type NeededFile } from "#protocol/checkpoint/pieces.ts";
import { readDcpSizes } from "#storage/inspect/read-dcp.ts";
import type { LookedFile } from "./look.ts";

/**
 * `.metadata` of PyTorch DCP is a pickle, written last and renamed into place. It names every data file in plain text, and like
 * every pickle it ends with a full stop. It is not unpickled: its bytes are only searched for these names.
 */
const METADATA = /(^|\/)\.metadata$/;
const DATA = /__\d+_\d+\.distcp/g;
/** First byte of a pickle since protocol 2, and the last byte of every pickle. */
const PICKLE = 0x80;
const STOP = 0x2e;
const MOST_BYTES = 32 * 1024 * 1024;

/** Returns the files that `.metadata` files name, with the least size of each; null when no such file can be read. */
export async function findNeededByDcp(files: readonly LookedFile[]): Promise<NeededFile[] | null> {
  const needed = new Map<string, NeededFile>();
  let isThere = false;
  for (const { relative, path, identity } of files) {
    if (!METADATA.test(relative) || identity.sizeBytes > MOST_BYTES) continue;
    const bytes = await readFile(path).catch(() => Buffer.alloc(0));
    if (bytes[0] !== PICKLE || bytes.at(-1) !== STOP) continue;
    isThere = true;
    const folder = relative.slice(0, relative.lastIndexOf("/") + 1);
    const sizes = readDcpSizes(bytes);
    for (const name of [...sizes.keys(), ...(bytes.toString("latin1").match(DATA) ?? [])]) {
      const at = filePath.safeParse(folder + name).data;
      if (at !== undefined) needed.set(at, { path: at, sizeBytes: sizes.get(name) ?? 0 });
    }
  }
  return isThere ? [...needed.values()].slice(0, MOST_NEEDED) : null;
}

/** Returns a sentence that says which file named by `.metadata` is missing; null when none is. No faults. */
export async function findMissingInDcp(files: readonly LookedFile[]): Promise<string | null> {
  const there = new Set(files.map(({ relative }) => relative));
  for (const { relative, path, identity } of files) {
    if (!METADATA.test(relative) || identity.sizeBytes > MOST_BYTES) continue;
    const bytes = await readFile(path).catch(() => Buffer.alloc(0));
    // Other programs may use that name too.
    if (bytes[0] !== PICKLE) continue;
    if (bytes.at(-1) !== STOP) return `${relative} is cut short`;
    const folder = relative.slice(0, relative.lastIndexOf("/") + 1);
    const missing = new Set(bytes.toString("latin1").match(DATA)).values().find((name) => !there.has(folder + name));
    if (missing !== undefined) return `${folder}${missing} is missing`;
  }
  return null;
}
