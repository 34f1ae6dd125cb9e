import { open, type FileHandle } from "node:fs/promises";
import { step as stepSchema } from "#protocol/names.ts";
import { readPickle, type PickleValue } from "#storage/inspect/read-pickle.ts";
import { findDataPickle } from "#storage/inspect/read-torch.ts";
import { readEntryStart, readZipDirectory } from "#storage/inspect/read-zip.ts";
import { boundSource } from "#storage/inspect/source.ts";
import { pairsOf } from "#storage/inspect/torch-values.ts";
import { FINAL } from "./file-sets.ts";

/** A description of tensors that is larger is not read: it would hold up the worker's thread. */
const MOST_PICKLE_BYTES = 2 * 1024 * 1024;

/** The names under which training loops keep their counter, most exact first. */
const COUNTERS = [
  "global_step",
  "iter_num",
  "iteration",
  "num_timesteps",
  "global_iter",
  "train_step",
  "step",
  "steps",
  "iter",
  "it",
  "epoch",
] as const;

/**
 * Returns the step that a file of `torch.save` holds (`global_step`, `iter_num`, `epoch`); `FINAL` of one that ultralytics
 * stripped at the end; null where it holds none, or is in another format. Nothing in the file is executed: its pickle is only noted down. No faults.
 */
export async function readStepInside(path: string, sizeBytes: number): Promise<number | null> {
  let handle: FileHandle | null = null;
  try {
    handle = await open(path, "r");
    const file = handle;
    const source = boundSource({
      sizeBytes,
      read: async (offset, length) => {
        const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, offset);
        return buffer.subarray(0, bytesRead);
      },
    });
    const pickle = findDataPickle(await readZipDirectory(source));
    if (pickle === undefined || pickle.packedBytes > MOST_PICKLE_BYTES) return null;
    const read = readPickle(await readEntryStart(source, pickle, pickle.packedBytes));
    return read === null ? null : counterIn(read.value);
  } catch {
    // A stranger's file: torn, of another format, or larger inside than is looked at.
    return null;
  } finally {
    await handle?.close();
  }
}

function counterIn(value: PickleValue): number | null {
  const pairs = pairsOf(value);
  if (pairs === null) return null;
  const top = new Map(pairs.flatMap(([name, held]) => (typeof name === "string" ? [[name, held] as const] : [])));
  for (const name of COUNTERS) {
    const held = top.get(name);
    const found = stepSchema.safeParse(typeof held === "bigint" ? Number(held) : held);
    if (found.success) return found.data;
    if (name === "epoch" && held === FINAL && top.get("optimizer") === null) return FINAL;
  }
  return null;
}
