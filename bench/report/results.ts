import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";

/** Stored results of one case in one direction; the tables are made from them. */

const run = z.object({
  tool: z.string(),
  round: z.number(),
  /** Null: the transfer succeeded and every byte was right. */
  failure: z.string().nullable(),
  wallSeconds: z.number().nullable(),
  cpuSeconds: z.number().nullable(),
  peakRssKib: z.number().nullable(),
});
export type Run = z.infer<typeof run>;

const inFlight = z.object({ parts: z.number(), partBytes: z.number(), files: z.number() });

const tool = z.object({
  name: z.string(),
  title: z.string(),
  role: z.enum(["own", "peer", "ceiling"]),
  setup: z.string(),
  version: z.string(),
  inFlight: inFlight.nullable(),
});
export type ToolFacts = z.infer<typeof tool>;

/** Facts about how a result was measured. */
export const machineFacts = z.object({
  date: z.string(),
  commit: z.string(),
  command: z.string(),
  machine: z.object({
    cpu: z.string(),
    cores: z.number(),
    memoryGib: z.number(),
    kernel: z.string(),
    /** Load average of the minute before, which shows what else the machine was doing. */
    loadBefore: z.number(),
    node: z.string(),
    server: z.string(),
    congestion: z.string(),
  }),
});

const result = machineFacts.extend({
  case: z.string(),
  direction: z.enum(["up", "down"]),
  bytes: z.number(),
  files: z.number(),
  tools: z.array(tool),
  missing: z.record(z.string(), z.string()),
  runs: z.array(run),
});
export type Result = z.infer<typeof result>;

/** Folder of the published results. */
export const RESULTS = join(import.meta.dirname, "../results");

export async function writeResult(value: Result, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, `${value.case}.${value.direction}.json`), `${JSON.stringify(value, null, 2)}\n`);
}

/** Reads all stored results of transfers; an empty list when there are none. */
export async function readResults(folder: string): Promise<Result[]> {
  const names = await readdir(folder).catch(() => []);
  const files = names.filter((name) => /\.(up|down)\.json$/.test(name));
  return Promise.all(files.map(async (name) => result.parse(JSON.parse(await readFile(join(folder, name), "utf8")))));
}
