import { describe, expect, it } from "vitest";
import { readArchive } from "../testing/real-files.ts";
import { zipOf } from "../testing/zip-of.ts";
import { inspectFile } from "./inspect-file.ts";
import { sourceOfBytes } from "./source.ts";

/** What a file can try, one thing at a time. Thousands at random: fuzz.test.ts. */

const inspect = (path: string, bytes: Buffer) => inspectFile(path, sourceOfBytes(bytes));

function safetensors(header: string, data = Buffer.alloc(0)): Buffer {
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(Buffer.byteLength(header)));
  return Buffer.concat([length, Buffer.from(header), data]);
}

const pickled = (text: string): Buffer => zipOf("archive/data.pkl", Buffer.from(text, "latin1"));

describe("a pickle", () => {
  it("that would call something is written down and not followed", async () => {
    const found = await inspect("a.pt", pickled("\x80\x02}X\x01\0\0\0acposix\nsystem\n(X\x05\0\0\0touchtRs."));
    expect(found).toMatchObject({ format: "torch-zip", tensors: [], fault: null });
    expect(found.warnings).toEqual([expect.stringMatching(/^posix\.system: .* opaque/)]);
  });

  it("that names the same things again and again ends at a limit", async () => {
    // Each list holds the one before it twice, forty times over: 2^40 ways to the innermost.
    const text = `\x80\x02]q\0${"]q\x01(h\0h\0eq\0".repeat(40)}.`;
    const found = await inspect("a.pt", pickled(text));
    expect(found.fault).toMatchObject({ code: "TOO_MUCH_INSIDE" });
  });

  it("that holds itself ends too", async () => {
    const found = await inspect("a.pt", pickled("\x80\x02]q\0h\0a."));
    expect(found).toMatchObject({ fault: null, warnings: [expect.stringContaining("deeper than")] });
  });

  it("whose tensor is larger than what it lies in is refused", async () => {
    const tensor = (length: string) =>
      `\x80\x02ctorch._utils\n_rebuild_tensor_v2\n((X\x07\0\0\0storagectorch\nFloatStorage\nX\x01\0\0\x000X\x03\0\0\0cpuK\x02tQK\0K${length}\x85K\x01\x85\x89}tR.`;
    expect((await inspect("a.pt", pickled(tensor("\x03")))).fault).toMatchObject({
      detail: "a tensor reaches past the end of its storage",
    });
    // As large as it says, but the archive lacks it.
    expect((await inspect("a.pt", pickled(tensor("\x02")))).fault).toMatchObject({
      detail: "a storage that it speaks of is not in it",
    });
  });

  it("of anything else is not read at all", async () => {
    const found = await inspect("a.pkl", Buffer.from("\x80\x04cos\nsystem\n(S'x'\ntR.", "latin1"));
    expect(found).toMatchObject({
      format: "pickle",
      tensors: [],
      warnings: [expect.stringContaining("never executed")],
    });
  });
});

describe("a header", () => {
  it.each([
    [
      "a pointer of Git LFS",
      "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n",
      /never fetched \(git lfs pull\)/,
    ],
    ["a page", "<!doctype html><html><title>Sign in</title></html>", /page or an answer of a server/],
    ["JSON", '{"error":"not authorized"}', /it is JSON/],
    ["gzip", Buffer.from("1f8b0800000000000003abe60200d0a6f1a502000000", "hex"), /compressed with gzip/],
  ])("that is %s under the name of a safetensors file is named as that", async (_, bytes, says) => {
    const { fault } = await inspect("model.safetensors", Buffer.from(bytes));
    expect(fault).toMatchObject({ code: "MALFORMED", detail: expect.stringMatching(says) });
  });

  it.each(["model.pt", "last.CKPT", "pytorch_model.bin", "a.npz"])(
    "%s that is a page, a pointer of Git LFS, or empty is named as that",
    async (name) => {
      const faultOf = async (text: string) => (await inspect(name, Buffer.from(text))).fault?.detail;
      expect(await faultOf("<!DOCTYPE html><html><title>Sign in</title></html>")).toMatch(
        /page or an answer of a server/,
      );
      expect(await faultOf("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\n")).toMatch(/git lfs pull/);
      expect(await faultOf("")).toMatch(/it is empty/);
    },
  );

  it.each([
    ["gzip", "1f8b08000000000000034b4c4a0600c241243503000000"],
    ["xz", "fd377a585a000004e6d6b446000000"],
    ["bzip2", "425a683931415926535911223344"],
    ["zstd", "28b52ffd0400190000616263"],
    ["lz4", "04224d186440a70300008061"],
  ])("in %s is named as that, whatever file of a model it should be", async (compression, hex) => {
    for (const name of ["model.pt", "ckpt_10.pth.tar", "pytorch_model.bin", "model.h5"]) {
      const { warnings, fault } = await inspect(name, Buffer.from(hex, "hex"));
      expect(JSON.stringify([warnings, fault])).toContain(`compressed with ${compression}`);
    }
    expect((await inspect("logs.xz", Buffer.from(hex, "hex"))).warnings).toEqual([]);
  });

  it("of a tar file is named by every name that PyTorch's files have", async () => {
    const tar = Buffer.alloc(10_240);
    tar.write("sys_info");
    tar.write("ustar", 257);
    expect((await inspect("old.pth.tar", tar)).format).toBe("torch-tar");
    expect((await inspect("old.pt", tar)).format).toBe("torch-tar");
    expect((await inspect("data.tar", tar)).format).toBe("binary");
  });

  it("is not expected of text under other names", async () => {
    expect(await inspect("page.html", Buffer.from("<!DOCTYPE html><html></html>"))).toMatchObject({ fault: null });
    expect(await inspect("done", Buffer.from(""))).toMatchObject({ format: "empty", fault: null });
  });

  it.each(["\ufeff", " "])("behind %j is read by no library", async (before) => {
    const header = `${before}{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`;
    const { fault } = await inspect("a.safetensors", safetensors(header, Buffer.alloc(4)));
    expect(fault).toMatchObject({ detail: expect.stringContaining("does not begin with {") });
  });

  it("that is longer than is read costs nothing", async () => {
    const length = Buffer.alloc(8);
    length.writeBigUInt64LE(50_000_000n);
    let read = 0;
    const found = await inspectFile("a.safetensors", {
      sizeBytes: 60_000_000,
      read: (_, wanted) => {
        read += wanted;
        return Promise.resolve(Buffer.concat([length, Buffer.alloc(wanted - 8, "{")]));
      },
    });
    expect(found.fault).toMatchObject({ code: "TOO_MUCH_INSIDE" });
    expect(read).toBeLessThanOrEqual(64 * 1024);
  });

  it.each([
    [
      "overlapping tensors",
      { a: { dtype: "U8", shape: [2], data_offsets: [0, 2] }, b: { dtype: "U8", shape: [2], data_offsets: [1, 3] } },
    ],
    ["a size that does not follow from the shape", { a: { dtype: "F32", shape: [2], data_offsets: [0, 4] } }],
    ["tensors past the end", { a: { dtype: "U8", shape: [9], data_offsets: [0, 9] } }],
    ["a negative dimension", { a: { dtype: "U8", shape: [-1], data_offsets: [0, 1] } }],
    ["more elements than can be counted", { a: { dtype: "U8", shape: [2 ** 52, 2 ** 52], data_offsets: [0, 1] } }],
  ])("with %s is refused", async (_, header) => {
    expect((await inspect("a.safetensors", safetensors(JSON.stringify(header), Buffer.alloc(4)))).fault).toMatchObject({
      code: "MALFORMED",
    });
  });

  const T = '{"dtype":"F32","shape":[1],"data_offsets":[0,4]}';

  it("that names a tensor twice is refused, with the name", async () => {
    const twice = `{"v":${T},"w\\u0061":${T.replace("0,4", "4,8")},"wa":${T.replace("0,4", "8,12")}}`;
    expect((await inspect("a.safetensors", safetensors(twice, Buffer.alloc(12)))).fault).toMatchObject({
      code: "MALFORMED",
      detail: "its header names wa twice",
    });
    const metadata = `{"__metadata__":{"a":"b"},"__metadata__":{"c":"d"},"w":${T}}`;
    expect((await inspect("a.safetensors", safetensors(metadata, Buffer.alloc(4)))).fault).toMatchObject({
      detail: "its header names __metadata__ twice",
    });
    const once = `{"data_offsets":${T},"__metadata__":{"k":"data_offsets"}}`;
    expect(await inspect("a.safetensors", safetensors(once, Buffer.alloc(4)))).toMatchObject({
      fault: null,
      tensors: [{ name: "data_offsets" }],
    });
  });

  it("that begins empty and goes on with its metadata is named for what it is", async () => {
    expect((await inspect("a.safetensors", safetensors('{},"__metadata__":{"k":"v"}}'))).fault).toMatchObject({
      code: "MALFORMED",
      detail: expect.stringContaining("ends after {}"),
    });
  });

  it("of 126 MB is refused by its length, and nothing of it is read", async () => {
    const length = Buffer.alloc(8);
    length.writeBigUInt64LE(126_000_000n);
    let read = 0;
    const found = await inspectFile("a.safetensors", {
      sizeBytes: 200_000_000,
      read: (_, wanted) => {
        read += wanted;
        return Promise.resolve(Buffer.concat([length, Buffer.alloc(wanted - 8)]));
      },
    });
    expect(found.fault).toMatchObject({
      code: "MALFORMED",
      detail: "its header claims 126000000 bytes; the format allows 100 MB",
    });
    expect(read).toBeLessThanOrEqual(64 * 1024);
  });

  it.each([
    ["Python 2", "{'descr': '<f4', 'fortran_order': False, 'shape': (2L, 3L), }", [2, 3], 24],
    ["numpy 2", "{'descr': '|u1', 'fortran_order': False, 'shape': (np.int64(1), np.int64(2)), }", [1, 2], 2],
    ["a writer with other quotes", `{"descr": "<f8", "fortran_order": False, "shape": (2,), }`, [2], 16],
    ["a scalar", "{'descr': '<f8', 'fortran_order': False, 'shape': (), }", [], 8],
  ])("of an array by %s is read", async (...[, text, shape, bytes]) => {
    const head = Buffer.alloc(10);
    head.write("\x93NUMPY\x01\x00", "latin1");
    head.writeUInt16LE(text.length + 1, 8);
    const file = Buffer.concat([head, Buffer.from(`${text}\n`), Buffer.alloc(bytes)]);
    expect(await inspect("a.npy", file)).toMatchObject({ fault: null, warnings: [], tensors: [{ shape }] });
  });

  it("of a quantised file says how long it is, and one cut short is found", async () => {
    const real = readArchive("inspect-formats").get("gguf/v3.gguf") ?? Buffer.alloc(0);
    expect((await inspect("a.gguf", real.subarray(0, real.length - 1))).fault).toMatchObject({
      code: "MALFORMED",
      detail: expect.stringContaining("cut short: 1 bytes"),
    });
  });

  it("of a quantised file of version 1, whose header is shorter, is named by its version", async () => {
    const file = Buffer.from("GGUF\x01\0\0\0\0\0\0\0\0\0\0\0", "latin1");
    expect((await inspect("a.gguf", file)).fault).toMatchObject({ detail: expect.stringContaining("GGUF version 1;") });
    expect((await inspect("a.gguf", file.subarray(0, 6))).fault).toMatchObject({
      detail: expect.stringContaining("shorter than the header"),
    });
  });
});

it("names and texts are shown with what cannot be seen made visible", async () => {
  const header = {
    __metadata__: { "a\u202eb": "line\nfeed\u0007" },
    "w\u200b": { dtype: "odd\u001b", shape: [1], data_offsets: [0, 1] },
  };
  const found = await inspect("a.safetensors", safetensors(JSON.stringify(header), Buffer.alloc(1)));
  expect(found.metadata).toEqual([{ name: "a\\u202eb", value: "line\\u000afeed\\u0007" }]);
  expect(found.warnings).toEqual(["w\\u200b: the dtype odd\\u001b is not known"]);
  expect((await inspect("a.txt", Buffer.from("one\ntwo\u202e\u0000".slice(0, 8)))).preview).toBe("one\ntwo\\u202e");
});

it("a table of contents of the long form is read as the short one", async () => {
  const npy = readArchive("inspect-formats").get("numpy/plain.npy") ?? Buffer.alloc(0);
  const [short, long] = [
    await inspect("a.npz", zipOf("w.npy", npy)),
    await inspect("a.npz", zipOf("w.npy", npy, { isLong: true })),
  ];
  expect(long).toMatchObject({ format: "npz", fault: null, tensors: [{ name: "w", shape: [2, 3] }] });
  expect(long.tensors).toEqual(short.tensors);
});

it("where the old form of PyTorch has its tensors is where their bytes are", async () => {
  const real = readArchive("inspect-formats").get("torch/legacy.pt") ?? Buffer.alloc(0);
  const { tensors } = await inspect("legacy.pt", real);
  const ones = tensors.find(({ name }) => name === "embed.weight");
  const view = tensors.find(({ name }) => name === "view");
  expect(Array.from({ length: 6 }, (_, index) => real.readFloatLE((ones?.offset ?? 0) + 4 * index))).toEqual([
    1, 1, 1, 1, 1, 1,
  ]);
  expect(Array.from({ length: 3 }, (_, index) => real.readBigInt64LE((view?.offset ?? 0) + 8 * index))).toEqual([
    2n,
    3n,
    4n,
  ]);
});

it("an archive that has a name twice is told by that name: loaders take the last, whatever is shown of both", async () => {
  const npy = readArchive("inspect-formats").get("numpy/plain.npy") ?? Buffer.alloc(0);
  const once = zipOf("w.npy", npy);
  const [end, directory] = [Buffer.from(once.subarray(-22)), once.subarray(-22 - 46 - "w.npy".length, -22)];
  end.writeUInt16LE(2, 8);
  end.writeUInt16LE(2, 10);
  end.writeUInt32LE(directory.length * 2, 12);
  const twice = Buffer.concat([once.subarray(0, -22), directory, end]);
  expect((await inspect("a.npz", twice)).warnings).toEqual([
    "w.npy: it has this name more than once; loaders take the last one",
  ]);
  expect((await inspect("a.npz", once)).warnings).toEqual([]);
});
