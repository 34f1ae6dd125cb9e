import { createHash } from "node:crypto";

/**
 * For tests: a plain writer and reader of safetensors, independent of the code that cuts files.
 * https://github.com/huggingface/safetensors#format
 */
export interface PlainTensor {
  name: string;
  dtype: string;
  shape: number[];
  bytes: Buffer;
}

/** Writes a file. `inHeader`: names in header order, if that differs from the byte order. */
export function makeSafetensors(
  tensors: readonly PlainTensor[],
  { metadata, inHeader }: { metadata?: Record<string, string>; inHeader?: readonly string[] } = {},
): Buffer {
  let at = 0;
  const entries = new Map<string, string>();
  for (const { name, dtype, shape, bytes } of tensors) {
    const entry = { dtype, shape, data_offsets: [at, at + bytes.length] };
    entries.set(name, `${JSON.stringify(name)}: ${JSON.stringify(entry)}`);
    at += bytes.length;
  }
  const rows = (inHeader ?? tensors.map(({ name }) => name)).map((name) => entries.get(name) ?? "");
  const head = metadata === undefined ? [] : [`"__metadata__": ${JSON.stringify(metadata)}`];
  const json = Buffer.from(`{${[...head, ...rows].join(", ")}}`);
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(json.length));
  return Buffer.concat([length, json, ...tensors.map(({ bytes }) => bytes)]);
}

export interface PlainFile {
  metadata: unknown;
  /** In header order. */
  tensors: PlainTensor[];
  /** Names in byte order. */
  inBytes: string[];
  dataAt: number;
}

/** Reads a file. Throws where the reference reader does: for bytes that belong to no tensor, or to two. */
export function readPlainly(file: Buffer): PlainFile {
  const headerBytes = Number(file.readBigUInt64LE(0));
  const dataAt = 8 + headerBytes;
  const text = file.subarray(8, dataAt).toString("utf8");
  if (!text.startsWith("{")) throw new Error("a header begins with {");
  const { __metadata__: metadata, ...rest } = JSON.parse(text) as Record<string, unknown>;
  const rows = Object.entries(rest) as [string, { dtype: string; shape: number[]; data_offsets: [number, number] }][];
  const inOrder = rows.toSorted(
    ([, a], [, b]) => a.data_offsets[0] - b.data_offsets[0] || a.data_offsets[1] - b.data_offsets[1],
  );
  let reached = 0;
  for (const [name, { data_offsets: offsets }] of inOrder) {
    if (offsets[0] !== reached) throw new Error(`${name} does not begin where the one before it ends`);
    [, reached] = offsets;
  }
  if (dataAt + reached !== file.length) throw new Error(`the file has ${file.length} bytes, not ${dataAt + reached}`);
  return {
    metadata,
    dataAt,
    tensors: rows.map(
      ([
        name,
        {
          dtype,
          shape,
          data_offsets: [begin, end],
        },
      ]) => ({
        name,
        dtype,
        shape,
        bytes: file.subarray(dataAt + begin, dataAt + end),
      }),
    ),
    inBytes: inOrder.map(([name]) => name),
  };
}

interface SummedTensor extends Omit<PlainTensor, "bytes"> {
  sha256: string;
}

export type SummedFile = Omit<PlainFile, "tensors"> & { tensors: SummedTensor[] };

/** Reads a file, with SHA-256 in place of bytes, so that failure messages of tests stay short. */
export function sumPlainly(file: Buffer): SummedFile {
  const { tensors, ...rest } = readPlainly(file);
  const summed = tensors.map(({ bytes, ...tensor }) => ({
    ...tensor,
    sha256: createHash("sha256").update(bytes).digest("hex"),
  }));
  return { ...rest, tensors: summed };
}
