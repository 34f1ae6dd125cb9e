import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { keysInEnv } from "./keys-in-env.ts";
import type { RunningProcess } from "./start-process.ts";
import { type RunningStore, startStore } from "./start-store.ts";
import { startWorker } from "./start-worker.ts";

/** A store and nodes without a hub. */
export interface Alone {
  dir: string;
  store: RunningStore;
  started: RunningProcess[];
}

export async function openAlone(flags: string[] = []): Promise<Alone> {
  const dir = mkdtempSync(join(tmpdir(), "tidemark-alone-"));
  const store = await startStore({ dataDir: join(dir, "store"), control: "alone-control-token", flags });
  return { dir, store, started: [] };
}

export async function closeAlone({ dir, store, started }: Alone): Promise<void> {
  await Promise.all(started.map((one) => one.stop()));
  await store.stop();
  rmSync(dir, { recursive: true, force: true });
}

interface AloneNode {
  name: string;
  run: string;
  prefix: string;
  program?: string;
  flags?: string[];
  env?: Record<string, string>;
}

/** Folder that the node of this name watches. */
export const folderOf = ({ dir }: Alone, name: string): string => {
  const folder = join(dir, "nodes", name, "checkpoints");
  mkdirSync(folder, { recursive: true });
  return folder;
};

/** Starts `tidemark run` (with a script for node) or `tidemark agent` without a hub. */
export async function startAlone(alone: Alone, node: AloneNode): Promise<RunningProcess> {
  const { name, run, prefix, program, flags = [] } = node;
  const worker = await startWorker({
    hubUrl: null,
    stateDir: join(alone.dir, "nodes", name, "state"),
    name,
    run,
    watch: folderOf(alone, name),
    flags: ["--to", `s3://${alone.store.bucket}/${prefix}`, "--settle", "200ms", ...flags],
    ...(program !== undefined && { program: [process.execPath, "-e", program] }),
    env: { ...keysInEnv(alone.store), ...node.env },
  });
  alone.started.push(worker);
  return worker;
}
