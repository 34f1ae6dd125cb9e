import { createHash, randomBytes } from "node:crypto";
import { mkdtemp, rm, truncate, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { crc32Hex } from "#storage/checksums/crc32.ts";
import { readIdentity } from "../base/identity.ts";
import { openPackSource, type PackedFile } from "./pack-source.ts";

let folder: string;
let files: PackedFile[];
let whole: Buffer;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-pack-"));
  files = [];
  const contents = [1, 4096, 70_000, 3, 200_000, ...Array.from({ length: 200 }, () => 17)].map((size) =>
    randomBytes(size),
  );
  for (const [index, bytes] of contents.entries()) {
    const path = join(folder, String(index));
    await writeFile(path, bytes);
    files.push({ path, identity: await readIdentity(path), length: bytes.length, crc32: crc32Hex(bytes) });
  }
  whole = Buffer.concat(contents);
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const all = () => ({ partNumber: 1, offset: 0, length: whole.length });

async function readAll(bufferBytes: number, crc32: string | null = null): Promise<Buffer> {
  const { read } = openPackSource(files).reader(all(), crc32);
  const taken: Buffer[] = [];
  for (let at = 0; at < whole.length;) {
    const buffer = Buffer.alloc(bufferBytes);
    const length = await read(buffer, at);
    taken.push(buffer.subarray(0, length));
    at += length;
  }
  return Buffer.concat(taken);
}

test.each([7_001, 64 * 1024, 1024 * 1024])(
  "its bytes are those of its files in order, read %i at a time",
  async (bytes) => {
    expect((await readAll(bytes, crc32Hex(whole))).equals(whole)).toBe(true);
  },
);

test("any stretch can be read, and read again", async () => {
  const { read } = openPackSource(files).reader({ partNumber: 1, offset: 70_000, length: 9_000 }, null);
  for (const at of [0, 5_000, 0]) {
    const buffer = Buffer.alloc(4_000);
    const length = await read(buffer, at);
    expect(buffer.subarray(0, length).equals(whole.subarray(70_000 + at, 70_000 + at + length))).toBe(true);
  }
});

test("its sums are those of the bytes", async () => {
  const sums = await openPackSource(files).sum(all(), "md5");
  expect(sums).toEqual({ crc32: crc32Hex(whole), md5: createHash("md5").update(whole).digest("hex") });
});

test("a file that was written again, became shorter or went away is noticed before its bytes leave", async () => {
  const path = files[2]?.path ?? "";
  await writeFile(path, randomBytes(70_000));
  await expect(readAll(64 * 1024)).rejects.toMatchObject({ code: "SOURCE_CHANGED" });
  await truncate(path, 5);
  await expect(readAll(64 * 1024)).rejects.toMatchObject({ code: "SOURCE_CHANGED" });
  await rm(path);
  await expect(readAll(64 * 1024)).rejects.toMatchObject({ code: "READ_FAILED" });
});

test("bytes that changed although the file looks the same are noticed by their sum", async () => {
  const [first] = files;
  if (first === undefined) throw new Error("there are no files");
  const seconds = Number(BigInt(first.identity.mtimeNs) / 1_000_000_000n);
  await writeFile(first.path, Buffer.from([(whole[0] ?? 0) ^ 0xff]));
  await utimes(first.path, seconds, seconds);
  files[0] = { ...first, identity: await readIdentity(first.path) };
  await expect(readAll(64 * 1024)).rejects.toMatchObject({
    code: "SOURCE_CHANGED",
    context: { detail: "its bytes changed" },
  });
});
