import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { machineFacts } from "../report/results.ts";

/** Stored results of a fleet on one hub; the page is made from them. */

const phase = z.object({
  phase: z.string(),
  seconds: z.number(),
  /** CPU time as a share of one core. */
  cpu: z.number(),
  rssMb: z.number(),
});
export type Phase = z.infer<typeof phase>;

const killed = z.object({
  kills: z.number(),
  /** From the start of the process to its first answer, ms. */
  readyMs: z.object({ p50: z.number(), worst: z.number() }),
  /** From that answer until every node held its stream again, seconds. */
  allBackSeconds: z.object({ p50: z.number(), worst: z.number() }),
  /** Largest share of the fleet that said hello within one second. */
  busiestSecond: z.number(),
});
/** Results of a hub that was killed repeatedly under its fleet. */
export type Killed = z.infer<typeof killed>;

const measured = z.object({
  nodes: z.number(),
  everySeconds: z.number(),
  intervalSeconds: z.number(),
  /** Seconds until every node had enrolled and held its stream. */
  connectedSeconds: z.number(),
  phases: z.array(phase),
  /** Milliseconds; null if the command at that percentile never arrived. */
  commandMs: z.object({ count: z.number(), p50: z.number().nullable(), p99: z.number().nullable() }),
  screenMs: z.object({ count: z.number(), p50: z.number(), p95: z.number() }).nullable(),
  acknowledgedEnds: z.number(),
  lostEnds: z.number(),
  commandsTwice: z.number(),
  killed: killed.nullable(),
});
export type FleetMeasured = z.infer<typeof measured>;

const fleetResult = measured.extend(machineFacts.shape);
export type FleetResult = z.infer<typeof fleetResult>;

const FOLDER = join(import.meta.dirname, "../results/fleet");

/** Stores a result: one file for each size of the fleet, with and without kills; a later measurement replaces it. */
export async function saveFleetResult(result: FleetResult): Promise<void> {
  await mkdir(FOLDER, { recursive: true });
  const name = `${result.nodes}${result.killed === null ? "" : "-kills"}.json`;
  await writeFile(join(FOLDER, name), `${JSON.stringify(result, null, 2)}\n`);
}

/** Reads all stored results, the smallest fleet first. */
export async function readFleetResults(): Promise<FleetResult[]> {
  const names = (await readdir(FOLDER).catch(() => [])).filter((name) => name.endsWith(".json"));
  const found = await Promise.all(
    names.map(async (name) => fleetResult.parse(JSON.parse(await readFile(join(FOLDER, name), "utf8")))),
  );
  return found.toSorted((a, b) => a.nodes - b.nodes);
}
