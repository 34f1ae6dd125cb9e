import { rm, rename } from "node:fs/promises";
import { z } from "zod";
import { readStateFile, writeStateFile } from "../host/state-file.ts";

/**
 * What this machine found out about the way to a bucket, so that the next transfer starts with it. Only a convenience:
 * a file that is missing, torn or of another kind is an empty memory, and a memory that cannot be written is not kept.
 * An agent and copies may write at the same time: each adds what it learned to what stands there.
 */
export interface LearnedKey {
  /** Of the store; only its host and port count. */
  endpoint: string;
  bucket: string;
  direction: "up" | "down";
}

const learned = z.object({
  /** Connections that were best. */
  connections: z.number().int().min(1).max(1024),
  /** Payload rate that was measured with them, without a limit of ours. */
  bytesPerSecond: z.number().positive(),
  baseRttMs: z.number().nonnegative().nullable(),
  /** Epoch ms. */
  at: z.number().int(),
});
export type Learned = z.infer<typeof learned>;

export interface Memory {
  /** Null when nothing is known, or what is known is too old. */
  recall(key: LearnedKey): Learned | null;
  /** Best effort: resolves when it is on disk, or cannot be. */
  learn(key: LearnedKey, value: Omit<Learned, "at">): Promise<void>;
}

const file = z.object({ version: z.literal(1), links: z.record(z.string(), z.unknown()) });

const MOST_LINKS = 64;
const KEEP_MS = 14 * 24 * 60 * 60 * 1000;

type Links = ReadonlyMap<string, Learned>;

/** Opens the memory in a JSON file. `wallNow`: epoch ms. No faults. */
export async function openMemory(path: string, wallNow: () => number): Promise<Memory> {
  let links = await read(path, wallNow());
  let writing: Promise<void> = Promise.resolve();
  const isKept = (one: Learned) => isFresh(one, wallNow());
  const write = async (name: string, value: Learned) => {
    const others = await read(path, wallNow());
    links = newest(new Map([...links, ...others, [name, value]]));
    // Two processes must not write the same new file.
    const mine = `${path}.${process.pid}`;
    try {
      await writeStateFile(mine, { version: 1, links: Object.fromEntries(links) });
      await rename(mine, path);
    } catch {
      await rm(mine, { force: true }).catch(() => undefined);
    }
  };
  return {
    recall: (key) => {
      const known = links.get(nameOf(key));
      return known !== undefined && isKept(known) ? known : null;
    },
    learn: (key, value) => {
      const name = nameOf(key);
      const kept = { ...value, at: wallNow() };
      links = new Map([...links, [name, kept]]);
      writing = writing.then(() => write(name, kept));
      return writing;
    },
  };
}

const nameOf = ({ endpoint, bucket, direction }: LearnedKey): string => {
  const host = URL.canParse(endpoint) ? new URL(endpoint).host : endpoint;
  return `${direction} ${host} ${bucket}`;
};

/** A clock that was set back must not keep an entry for ever. */
const isFresh = ({ at }: Learned, now: number): boolean => Math.abs(now - at) <= KEEP_MS;

const newest = (links: Links): Links =>
  new Map([...links].sort(([, one], [, other]) => other.at - one.at).slice(0, MOST_LINKS));

async function read(path: string, now: number): Promise<Links> {
  const content = await readStateFile(path, file).catch(() => null);
  const links = new Map<string, Learned>();
  for (const [name, value] of Object.entries(content?.links ?? {})) {
    const parsed = learned.safeParse(value);
    if (parsed.success && isFresh(parsed.data, now)) links.set(name, parsed.data);
  }
  return links;
}
