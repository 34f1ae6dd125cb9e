import { readFile, writeFile } from "node:fs/promises";
import * as z from "zod";
import { removeOwned, renameOwned } from "../base/disk/change-disk.ts";

/**
 * A small file that caches findings for the next process. It is optional: a missing or damaged file counts as empty, a
 * failed write is ignored, and there is no fsync. Several processes may write at the same time: each merges its entries
 * into the file's. The newest entries stay.
 */
export interface KeptEntries<T> {
  /** Returns an entry; null when it is missing or too old. */
  recall(name: string): T | null;
  /** Stores an entry. Resolves when it is in the file, or the write has failed. */
  keep(name: string, value: T): Promise<void>;
}

export interface KeptOptions<T> {
  schema: z.ZodType<T>;
  /** Returns the epoch ms of an entry. */
  atOf(value: T): number;
  mostEntries: number;
  keepMs: number;
  /** Epoch ms. */
  wallNow(): number;
}

const file = z.object({ version: z.literal(1), entries: z.record(z.string(), z.unknown()) });

/** Opens the file. Never throws. */
export async function openKeptEntries<T>(path: string, options: KeptOptions<T>): Promise<KeptEntries<T>> {
  const { schema, atOf, mostEntries, keepMs, wallNow } = options;
  /** Uses the absolute difference, because after a clock is set back an entry from the future must expire too. */
  const isFresh = (value: T): boolean => Math.abs(wallNow() - atOf(value)) <= keepMs;
  const newest = (all: ReadonlyMap<string, T>): ReadonlyMap<string, T> =>
    new Map([...all].sort(([, one], [, other]) => atOf(other) - atOf(one)).slice(0, mostEntries));
  const read = async (): Promise<ReadonlyMap<string, T>> => {
    const found = new Map<string, T>();
    for (const [name, value] of Object.entries(await readEntries(path))) {
      const parsed = schema.safeParse(value);
      if (parsed.success && isFresh(parsed.data)) found.set(name, parsed.data);
    }
    return found;
  };
  let known = await read();
  let writing: Promise<void> = Promise.resolve();
  const write = async (name: string, value: T) => {
    const others = await read();
    known = newest(new Map([...known, ...others, [name, value]]));
    // The pid keeps two processes from writing the same temporary file.
    const mine = `${path}.${process.pid}`;
    try {
      const content = { version: 1, entries: Object.fromEntries(known) };
      await writeFile(mine, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 });
      await renameOwned("state-file", mine, path);
    } catch {
      await removeOwned("state-file", mine).catch(() => undefined);
    }
  };
  return {
    recall: (name) => {
      const value = known.get(name);
      return value !== undefined && isFresh(value) ? value : null;
    },
    keep: (name, value) => {
      known = new Map([...known, [name, value]]);
      writing = writing.then(() => write(name, value));
      return writing;
    },
  };
}

async function readEntries(path: string): Promise<Record<string, unknown>> {
  try {
    const parsed = file.safeParse(JSON.parse(await readFile(path, "utf8")));
    return parsed.success ? parsed.data.entries : {};
  } catch {
    return {};
  }
}
