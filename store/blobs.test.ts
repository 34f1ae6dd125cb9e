import { randomBytes } from "node:crypto";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openBlobs, type BlobFolder } from "./blobs.ts";

let folder: string;
let blobs: BlobFolder;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-blobs-"));
  blobs = await openBlobs(folder, "power-cut");
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function* pieces(...chunks: readonly Buffer[]): AsyncGenerator<Buffer> {
  yield* chunks;
}

async function collect(source: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of source) chunks.push(chunk);
  return Buffer.concat(chunks);
}

async function files(): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => entry.name);
}

describe("a blob", () => {
  it("is read back over any slices of several files", async () => {
    const [left, right] = [randomBytes(2_500_000), randomBytes(1000)];
    const ids = [await blobs.write(pieces(left.subarray(0, 10), left.subarray(10))), await blobs.write(pieces(right))];
    for (const id of ids) blobs.keep(id);
    const [first = "", second = ""] = ids;
    const read = blobs.read([
      { blob: first, offset: 5, sizeBytes: 2_499_995 },
      { blob: second, offset: 0, sizeBytes: 0 },
      { blob: second, offset: 10, sizeBytes: 20 },
    ]);
    expect((await collect(read)).equals(Buffer.concat([left.subarray(5), right.subarray(10, 30)]))).toBe(true);
  });

  it("leaves nothing when its source breaks", async () => {
    async function* breaking(): AsyncGenerator<Buffer> {
      yield Buffer.from("some");
      throw new Error("the line broke");
    }
    await expect(blobs.write(breaking())).rejects.toThrow("the line broke");
    expect(await files()).toEqual([]);
  });

  it("that is being read is deleted only when its reader is done", async () => {
    const id = await blobs.write(pieces(Buffer.from("content")));
    blobs.keep(id);
    const release = blobs.hold([id]);
    expect(await blobs.remove([id])).toEqual([]);
    expect((await collect(blobs.read([{ blob: id, offset: 0, sizeBytes: 7 }]))).toString()).toBe("content");
    release();
    await expect.poll(files).toEqual([]);
  });

  it("that is shorter than the index says is an error, not a short read", async () => {
    const id = await blobs.write(pieces(Buffer.from("four")));
    blobs.keep(id);
    await expect(collect(blobs.read([{ blob: id, offset: 0, sizeBytes: 5 }]))).rejects.toThrow(/shorter/);
  });
});

describe("a start after a kill", () => {
  it("moves what the index knows in place and deletes what it does not", async () => {
    const known = await blobs.write(pieces(Buffer.from("known")));
    await blobs.write(pieces(Buffer.from("unknown")));
    await writeFile(join(folder, "incoming", "half"), "written");
    const again = await openBlobs(folder, "power-cut");
    await again.recover((blob) => (blob === known ? "used" : "unused"));
    expect(await files()).toEqual([known]);
    expect((await collect(again.read([{ blob: known, offset: 0, sizeBytes: 5 }]))).toString()).toBe("known");
  });
});
