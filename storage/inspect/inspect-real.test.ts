import { expect, test } from "vitest";
import { ARCHIVES, besideIn, readArchive, readTruth } from "../testing/real-files.ts";
import { inspectFile } from "./inspect-file.ts";
import { sourceOfBytes } from "./source.ts";

/** What is found in files of the real libraries is what these libraries find in them. */

const truth = readTruth();
const files = new Map(ARCHIVES.map((archive) => [archive, readArchive(archive)]));
const rows = ARCHIVES.flatMap((archive) => Object.keys(truth[archive]).map((path) => [archive, path] as const));

test("every kind of file that is read was written by its own library", () => {
  const kinds = new Set(rows.map(([, path]) => path.slice(Math.max(path.lastIndexOf("."), path.lastIndexOf("/")) + 1)));
  expect([...kinds].sort()).toEqual([
    "_METADATA",
    "bin",
    "ckpt",
    "gguf",
    "json",
    "metadata",
    "npy",
    "npz",
    "pkl",
    "pt",
    "pth",
    "safetensors",
  ]);
});

test.each(rows)("%s: %s", async (archive, path) => {
  const all = files.get(archive) ?? new Map<string, Buffer>();
  const bytes = all.get(path);
  if (bytes === undefined) throw new Error("the archive lacks it");
  const expected = truth[archive][path] ?? {};
  const found = await inspectFile(path, sourceOfBytes(bytes), besideIn(all, path));
  expect(found.fault).toBeNull();
  if (expected.tensors !== undefined) {
    expect(found.tensors.map(({ name }) => name).sort()).toEqual(expected.tensors.map(({ name }) => name).sort());
    const seen = new Map(found.tensors.map((tensor) => [tensor.name, tensor]));
    for (const { sizeBytes, ...tensor } of expected.tensors) {
      // What pickled Python objects take only the file says.
      const size = path.endsWith("objects.npy") ? {} : { sizeBytes };
      expect(seen.get(tensor.name)).toMatchObject({ ...tensor, ...size });
    }
  }
  const metadata = Object.fromEntries(found.metadata.map(({ name, value }) => [name, value]));
  if (expected.metadata !== undefined && !("note" in expected.metadata))
    expect(metadata).toMatchObject(expected.metadata);
  if (expected.files !== undefined) expect(found.names).toEqual(expected.files);
  if (expected.points !== undefined) {
    expect(found.curve?.globalStep).toBe(expected.globalStep);
    const points = found.curve?.points.map(({ step, loss, learningRate }) => ({ step, loss, learningRate }));
    expect(points).toEqual(expect.arrayContaining(expected.points));
  }
});
