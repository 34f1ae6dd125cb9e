import { createHash, randomFillSync } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, open, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";

/** Payload of a case: one file, or a folder of equal small ones. */
export type Shape = { kind: "file"; bytes: number } | { kind: "folder"; files: number; fileBytes: number };

export const bytesOf = (shape: Shape): number => (shape.kind === "file" ? shape.bytes : shape.files * shape.fileBytes);

/** SHA-256 by relative name; a single file is named "". */
export type Digests = ReadonlyMap<string, string>;

const BLOCK = 8 << 20;

/** Writes random data to `path`. @returns the digests of what was written */
export async function makePayload(path: string, shape: Shape): Promise<Digests> {
  if (shape.kind === "file") return new Map([["", await writeRandomFile(path, shape.bytes)]]);
  await mkdir(path);
  const digests = new Map<string, string>();
  for (let index = 0; index < shape.files; index += 1) {
    const name = `shard-${String(index).padStart(5, "0")}.bin`;
    digests.set(name, await writeRandomFile(join(path, name), shape.fileBytes));
  }
  return digests;
}

async function writeRandomFile(path: string, bytes: number): Promise<string> {
  const hash = createHash("sha256");
  const block = Buffer.allocUnsafe(Math.min(BLOCK, bytes));
  await using file = await open(path, "wx");
  for (let at = 0; at < bytes; at += block.length) {
    const piece = block.subarray(0, Math.min(block.length, bytes - at));
    randomFillSync(piece);
    hash.update(piece);
    await file.write(piece, 0, piece.length, at);
  }
  return hash.digest("hex");
}

/** Compares the files at `path` with the payload. @returns what is wrong, or null */
export async function findDifference(path: string, wanted: Digests): Promise<string | null> {
  const isFolder = !wanted.has("");
  if (isFolder) {
    const names = await readdir(path).catch(() => []);
    if (names.length !== wanted.size) return `${names.length} files instead of ${wanted.size}`;
  }
  for (const [name, digest] of wanted) {
    const file = name === "" ? path : join(path, name);
    if ((await stat(file).catch(() => null)) === null) return `${name === "" ? "the file" : name} is missing`;
    const hash = createHash("sha256");
    await pipeline(createReadStream(file, { highWaterMark: BLOCK }), hash);
    if (hash.digest("hex") !== digest) return `${name === "" ? "the file" : name} has other bytes`;
  }
  return null;
}
