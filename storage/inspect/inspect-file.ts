import { isFault, type Fault } from "#protocol/faults/fault.ts";
import { INSPECT_LIMITS } from "#protocol/checkpoint/inspect-limits.ts";
import type { FileFormat, FileInspection } from "#protocol/checkpoint/inspect.ts";
import { visibleLines, visibleStart } from "#protocol/base/visible-text.ts";
import { emptyFound, type Found, warn } from "./found.ts";
import { readDcp } from "./read-dcp.ts";
import { GGUF_MAGIC, readGguf } from "./read-gguf.ts";
import { readJson } from "./read-json.ts";
import { NPY_MAGIC, readNpy, readNpz } from "./read-numpy.ts";
import { readOrbax } from "./read-orbax.ts";
import { readSafetensors } from "./read-safetensors.ts";
import { findDataPickle, LEGACY_MAGIC, readTorchLegacy, readTorchZip } from "./read-torch.ts";
import { readZipDirectory } from "./read-zip.ts";
import { roleOf } from "./role-of.ts";
import { compressionOf, LENGTH_BYTES, otherThan } from "./safetensors-header.ts";
import {
  type BoundedBeside,
  type BoundedSource,
  boundSource,
  type ByteSource,
  FIRST_READ_BYTES,
  nothingSpent,
  NOTHING_BESIDE,
  type OpenBeside,
  readBeside,
  malformed,
} from "./source.ts";
import { sumUp } from "./summarise.ts";

/**
 * Inspects one file: detects the format by its first bytes, then runs that format's reader. A damaged, hostile or
 * oversized file gives a result with the reason and everything found so far. Nothing in a file is ever executed, and
 * nothing is read past `INSPECT_LIMITS`, which files opened with `beside` share. Rejects with Faults of `source` and
 * `beside`, and TRUNCATED.
 */
export async function inspectFile(
  path: string,
  source: ByteSource,
  beside: OpenBeside = NOTHING_BESIDE,
): Promise<FileInspection> {
  const spent = nothingSpent();
  const bounded = boundSource(source, spent);
  const found = emptyFound("binary");
  let fault: Fault | null = null;
  try {
    await readAny(bounded, { path, found, beside: readBeside(beside, spent) });
  } catch (error) {
    if (!isFault(error) || (error.code !== "MALFORMED" && error.code !== "TOO_MUCH_INSIDE")) throw error;
    fault = error;
  }
  const tensors = found.tensors.map((tensor) => ({ ...tensor, role: roleOf(path, tensor.name) }));
  return {
    path,
    format: found.format,
    sizeBytes: bounded.sizeBytes,
    readBytes: bounded.readBytes,
    reads: bounded.reads,
    ...sumUp(tensors),
    tensors,
    tensorsOmitted: 0,
    metadata: found.metadata,
    names: found.names.map((name) => visibleStart(name, 1_024)),
    curve: found.curve,
    preview: found.preview,
    framework: found.framework,
    warnings: found.warnings,
    fault: fault === null ? null : fault.toData(),
  };
}

/** Returns whether inspection of a file with this name also reads neighboring files. */
export const readsBeside = (path: string): boolean => /(^|\/)_METADATA$/.test(path);

const startsWith = (bytes: Uint8Array, magic: Uint8Array | string): boolean => {
  const wanted = typeof magic === "string" ? Buffer.from(magic, "latin1") : magic;
  return bytes.length >= wanted.length && Buffer.from(bytes.buffer, bytes.byteOffset, wanted.length).equals(wanted);
};

const TAR_MAGIC_AT = 257;
/** Names of files that a training library loads; none of these is ever empty, or text. */
const LOADED = /\.(?:safetensors|gguf|npy|npz|pt|pth|ckpt|bin|h5|keras|(?:pt|pth)\.tar)$/i;

async function readAny(
  source: BoundedSource,
  about: { path: string; found: Found; beside: BoundedBeside },
): Promise<void> {
  const { path, found, beside } = about;
  if (source.sizeBytes === 0) {
    found.format = "empty";
    if (LOADED.test(path)) throw malformed("it is empty: nothing was written to it");
    return;
  }
  const start = await source.read(0, Math.min(FIRST_READ_BYTES, source.sizeBytes));
  found.format = formatOf(start, path);
  switch (found.format) {
    case "gguf":
      return readGguf(source, found);
    case "npy":
      return readNpy(source, found);
    case "zip":
      return readZip(source, found);
    case "torch-legacy":
      return readTorchLegacy(source, found);
    case "torch-dcp":
      return readDcp(source, found);
    case "safetensors":
      return readSafetensors(source, found);
    case "orbax":
      return readOrbax(source, { found, beside });
    case "ocdbt":
      return warn(found, "it is an index of arrays; what they are the _METADATA beside it says");
    case "json":
      previewText(source, { start, found });
      return readJson(source, found);
    case "text": {
      previewText(source, { start, found });
      const other = LOADED.test(path) ? otherThan(start) : null;
      if (other !== null) throw malformed(`it is ${other}, and no file of a checkpoint`);
      return;
    }
    case "torch-dcp-data":
      return warn(found, "it holds pieces of tensors; what they are the .metadata beside it says");
    case "torch-tar":
      return warn(found, "it is of the form that PyTorch wrote before 0.1.10, which is not read");
    case "pickle":
      return warn(
        found,
        "it is a bare pickle: a program, which is never executed, so nothing is said of what is in it",
      );
    default: {
      const compression = LOADED.test(path) ? compressionOf(start) : null;
      if (compression !== null) warn(found, `it is compressed with ${compression}: unpack it before it is loaded`);
      return undefined;
    }
  }
}

/** Detects the format by the first bytes, or by the name where they leave it open. */
function formatOf(start: Uint8Array, path: string): FileFormat {
  const name = path.slice(path.lastIndexOf("/") + 1).toLowerCase();
  if (name.endsWith(".distcp")) return "torch-dcp-data";
  if (name === "manifest.ocdbt") return "ocdbt";
  if (startsWith(start, GGUF_MAGIC)) return "gguf";
  if (startsWith(start, NPY_MAGIC)) return "npy";
  if (startsWith(start, "PK\x03\x04") || startsWith(start, "PK\x05\x06")) return "zip";
  if (startsWith(start, LEGACY_MAGIC)) return "torch-legacy";
  if (startsWith(start.subarray(TAR_MAGIC_AT), "ustar"))
    return /\.(pt|pth|ckpt|bin)(\.tar)?$/.test(name) ? "torch-tar" : "binary";
  if (start[0] === 0x80 && (start[1] ?? 0) >= 2 && (start[1] ?? 0) <= 5)
    return name === ".metadata" ? "torch-dcp" : "pickle";
  if (name.endsWith(".safetensors") || looksLikeSafetensors(start)) return "safetensors";
  if (name.endsWith(".gguf") || name.endsWith(".npy")) return name.endsWith(".gguf") ? "gguf" : "npy";
  if (!isText(start)) return "binary";
  if (readsBeside(path)) return "orbax";
  return name.endsWith(".json") ||
    /^\s*[{[]/.test(Buffer.from(start.buffer, start.byteOffset, Math.min(64, start.length)).toString("latin1"))
    ? "json"
    : "text";
}

/** Returns whether the file starts with a plausible header length and a JSON object. */
function looksLikeSafetensors(start: Uint8Array): boolean {
  if (start.length <= LENGTH_BYTES || start[LENGTH_BYTES] !== 0x7b) return false;
  return new DataView(start.buffer, start.byteOffset, LENGTH_BYTES).getBigUint64(0, true) <= 100_000_000n;
}

/** Returns whether the bytes are UTF-8 without NUL; the last character may be cut off. */
function isText(start: Uint8Array): boolean {
  const near = start.subarray(0, INSPECT_LIMITS.previewBytes);
  if (near.some((byte) => byte === 0)) return false;
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(near, { stream: true });
    return true;
  } catch {
    return false;
  }
}

function previewText(source: BoundedSource, about: { start: Uint8Array; found: Found }): void {
  const { start, found } = about;
  const near = start.subarray(0, INSPECT_LIMITS.previewBytes);
  found.preview = visibleLines(new TextDecoder().decode(near, { stream: true }));
  if (source.sizeBytes > near.length) {
    warn(found, `the preview shows the first ${INSPECT_LIMITS.previewBytes} of ${source.sizeBytes} bytes`);
  }
}

function findRepeated(names: readonly string[]): string | null {
  const seen = new Set<string>();
  return names.find((name) => seen.size === seen.add(name).size) ?? null;
}

async function readZip(source: BoundedSource, found: Found): Promise<void> {
  const entries = await readZipDirectory(source);
  const twice = findRepeated(entries.map(({ name }) => name));
  if (twice !== null) warn(found, "it has this name more than once; loaders take the last one", twice);
  if (findDataPickle(entries) !== undefined) {
    found.format = "torch-zip";
    return readTorchZip(source, { entries, found });
  }
  if (entries.some(({ name }) => name.endsWith(".npy"))) {
    found.format = "npz";
    return readNpz(source, { entries, found });
  }
  found.names = entries.slice(0, 1_000).map(({ name }) => name);
  return undefined;
}
