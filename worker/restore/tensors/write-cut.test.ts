import { createHash } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { filePath } from "#protocol/base/names.ts";
import { crc32Hex } from "#storage/checksums/crc32.ts";
import { boundSource, sourceOfBytes } from "#storage/inspect/source.ts";
import { cutOut, readLayout } from "#storage/tensors/cut-out.ts";
import { makeSafetensors, readPlainly } from "#storage/testing/plain-safetensors.ts";
import type { ShardPlan } from "./plan-tensors.ts";
import { writeCut } from "./write-cut.ts";

const file = makeSafetensors([
  { name: "a", dtype: "U8", shape: [3], bytes: Buffer.from("aaa") },
  // More than is copied at a time.
  { name: "b", dtype: "U8", shape: [3_000_001], bytes: Buffer.alloc(3_000_001, "b") },
]);
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-cut-"));
  await writeFile(join(folder, "parts"), file);
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const at = () => ({
  parts: join(folder, "parts"),
  place: join(folder, "made"),
  signal: new AbortController().signal,
});
async function planOf(head: Buffer): Promise<ShardPlan> {
  const layout = await readLayout(boundSource(sourceOfBytes(file)));
  const cut = cutOut(layout, (name) => name === "b");
  if (cut === null) throw new Error("nothing fits");
  const sha256 = createHash("sha256").update(head.subarray(0, layout.dataAt)).digest("hex");
  const stored = {
    path: filePath.parse("m.safetensors"),
    sizeBytes: file.length,
    mtimeMs: 1,
    sha256: null,
    extents: [],
  };
  return { file: stored, head: { bytes: layout.dataAt, sha256 }, cut, pieces: [], movedBytes: 0 };
}

test("the file is that of the chosen tensors, and its sum is said, also over one that an earlier try left longer", async () => {
  await writeFile(at().place, Buffer.alloc(5_000_000, "x"));
  const sum = await writeCut(await planOf(file), at());
  const made = await readFile(at().place);
  const [tensor, ...others] = readPlainly(made).tensors;
  expect([tensor?.name, tensor?.bytes.equals(Buffer.alloc(3_000_001, "b")), others]).toEqual(["b", true, []]);
  expect(sum).toBe(crc32Hex(made));
});

test("where the verified header is not the one that was planned by, nothing is made of it", async () => {
  const other = Buffer.from(file);
  other.write("c", other.indexOf('"a"') + 1);
  await expect(writeCut(await planOf(other), at())).rejects.toMatchObject({
    code: "SOURCE_CHANGED",
    context: { subject: "m.safetensors" },
  });
  expect(await readdir(folder)).toEqual(["parts"]);
});
