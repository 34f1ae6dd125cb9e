import { crc32 } from "node:zlib";
import { bytesOf, dtypeOfStorage } from "./dtypes.ts";
import { addMetadata, type Found, warn } from "./found.ts";
import { readPickle } from "./pickle/read-pickle.ts";
import type { ZipEntry } from "./read-zip.ts";
import { readEntryStart } from "./read-zip.ts";
import { type BoundedSource, malformed, tooMuch, wholeNumber } from "./source.ts";
import { collectTensors, describeTop, itemsOf, type StoredBytes } from "./torch-values.ts";
import type { PickleValue } from "./pickle/pickle-value.ts";

/** Reads files of `torch.save`: since version 1.6 a zip file with `data.pkl`, before that a sequence of pickles. */

const MOST_PICKLE_BYTES = 12 * 1024 * 1024;

export const findDataPickle = (entries: readonly ZipEntry[]): ZipEntry | undefined =>
  entries.find(({ name }) => /^([^/]+\/)?data\.pkl$/.test(name));

/** Reads the zip form. Rejects with Fault MALFORMED or TOO_MUCH_INSIDE, or Faults of the source. */
export async function readTorchZip(
  source: BoundedSource,
  about: { entries: readonly ZipEntry[]; found: Found },
): Promise<void> {
  const { entries, found } = about;
  const pickle = findDataPickle(entries);
  if (pickle === undefined) throw malformed("there is no data.pkl in it");
  if (pickle.packedBytes > MOST_PICKLE_BYTES)
    throw tooMuch(`its description of tensors has ${pickle.packedBytes} bytes`);
  const root = pickle.name.slice(0, -"data.pkl".length);
  const bytes = await readEntryStart(source, pickle, pickle.packedBytes);
  const read = readPickle(bytes);
  if (read === null) throw malformed("its data.pkl is cut short");
  const stored = new Map<string, StoredBytes>();
  // Torch can write false checksums (`set_crc32_options`). If that of data.pkl is wrong, none is trusted.
  const isSummed = crc32(bytes) === pickle.crc32;
  for (const { name, sizeBytes, crc32: sum } of entries) {
    if (!name.startsWith(`${root}data/`)) continue;
    const shown = isSummed ? sum.toString(16).padStart(8, "0") : null;
    stored.set(name.slice(root.length + "data/".length), { sizeBytes, offset: null, crc32: shown });
  }
  if (entries.some(({ name }) => name.startsWith(`${root}code/`))) found.framework = "torchscript";
  await readByteOrder(source, { entries, root, found });
  describeTop(read.value, found);
  collectTensors(read.value, found, (key) => {
    const known = stored.get(key);
    if (known === undefined) throw malformed("a storage that it speaks of is not in it");
    return known;
  });
}

async function readByteOrder(
  source: BoundedSource,
  about: { entries: readonly ZipEntry[]; root: string; found: Found },
): Promise<void> {
  const entry = about.entries.find(({ name }) => name === `${about.root}byteorder`);
  if (entry === undefined) return;
  const text = new TextDecoder().decode(await readEntryStart(source, entry, 16));
  if (text !== "little") addMetadata(about.found, "byteorder", text);
}

/** First pickle of the legacy form: its magic number. */
export const LEGACY_MAGIC = Buffer.from("80028a0a6cfc9c46f9206aa850192e", "hex");
const PROTOCOL = 1001;
const READ_STEPS = [64 * 1024, 1024 * 1024, MOST_PICKLE_BYTES] as const;

/** Reads the legacy form: five pickles (magic, protocol, machine, saved value, storage keys), then storages with lengths. */
export async function readTorchLegacy(source: BoundedSource, found: Found): Promise<void> {
  for (const step of READ_STEPS) {
    const length = Math.min(step, source.sizeBytes);
    const bytes = await source.read(0, length);
    const pickles: PickleValue[] = [];
    let at = 0;
    while (pickles.length < 5) {
      const read = readPickle(bytes, at);
      if (read === null) break;
      pickles.push(read.value);
      at = read.end;
    }
    const [, protocol, machine, saved, keys] = pickles;
    if (saved !== undefined && keys !== undefined)
      return takeLegacy({ source, found, at }, { protocol, machine, saved, keys });
    if (length === source.sizeBytes) throw malformed("it is cut short in the middle of its pickles");
  }
  throw tooMuch("its description of tensors is longer than is read");
}

function takeLegacy(
  about: { source: BoundedSource; found: Found; at: number },
  pickles: {
    protocol: PickleValue | undefined;
    machine: PickleValue | undefined;
    saved: PickleValue;
    keys: PickleValue;
  },
): void {
  const { source, found } = about;
  if (pickles.protocol !== PROTOCOL) throw malformed("its version of the old form is not known");
  const storages = storagesIn(pickles.saved);
  const stored = new Map<string, StoredBytes>();
  let offset: number | null = about.at;
  for (const key of itemsOf(pickles.keys)) {
    const storage = typeof key === "string" ? storages.get(key) : undefined;
    if (typeof key !== "string" || storage === undefined || offset === null) {
      // The length of this storage is unknown, so later offsets are too.
      offset = null;
      continue;
    }
    stored.set(key, { sizeBytes: storage, offset: offset + 8, crc32: null });
    offset = wholeNumber(offset + 8 + storage, "the end of a storage");
    if (offset > source.sizeBytes) {
      throw malformed(`it is cut short: ${offset - source.sizeBytes} bytes of its tensors are missing`);
    }
  }
  if (offset === null) warn(found, "where its tensors lie could not be found out");
  describeTop(pickles.saved, found);
  collectTensors(pickles.saved, found, (key) => stored.get(key) ?? null);
}

/** Returns the bytes of every storage that a value references, by key. */
function storagesIn(value: PickleValue): Map<string, number> {
  const sizes = new Map<string, number>();
  const seen = new Set<object>();
  const rest: PickleValue[] = [value];
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    if (typeof next !== "object" || next === null || seen.has(next)) continue;
    seen.add(next);
    if (next.kind === "persistent") {
      const [tag, type, key, , count] = itemsOf(next.id);
      const name =
        typeof type === "object" && type?.kind === "global" ? type.name.slice(type.name.lastIndexOf(".") + 1) : "";
      const dtype = dtypeOfStorage(name);
      if (tag !== "storage" || typeof key !== "string" || typeof count !== "number" || dtype === null) continue;
      const sizeBytes = bytesOf(dtype, wholeNumber(count, "the length of a storage"));
      if (sizeBytes !== null) sizes.set(key, sizeBytes);
      continue;
    }
    if ("items" in next) for (const item of next.items) rest.push(item);
    if ("pairs" in next) for (const pair of next.pairs) rest.push(pair[0], pair[1]);
    if (next.kind === "call") rest.push(next.args, next.state);
  }
  return sizes;
}
