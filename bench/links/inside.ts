import { readFile, writeFile } from "node:fs/promises";
import * as z from "zod";
import { engineName } from "#protocol/benchmarks/plan-input.ts";
import { startListening } from "../stage/start-server.ts";
import type { RawRun } from "./compare-rates.ts";
import { STORES } from "./emulated-fleet.ts";
import { judge } from "./judge.ts";
import { measureRaw, RAW_PORT } from "./measure-raw.ts";
import { openFleet } from "./open-fleet.ts";
import { measured } from "./result.ts";
import { type Killed, runBenchmark } from "./run-benchmark.ts";

/** Runs in the namespace of the hub: starts everything, measures, and writes the results. */

const place = z.object({ netnsFile: z.string(), address: z.string() });
export const insideGiven = z.object({
  folder: z.string(),
  program: z.string(),
  rawProgram: z.string(),
  searchPath: z.string(),
  hubAddress: z.string(),
  nodes: z.array(measured.shape.fleet.element.extend({ netnsName: z.string(), netnsFile: z.string() })),
  stores: z.object({ "eu-central": place, "us-east": place, "us-west": place }),
  plan: z.object({
    engines: z.array(engineName),
    bytes: z.number(),
    partBytes: z.number(),
    connections: z.number(),
    perBucket: z.number(),
    seed: z.number(),
    kill: z.enum(["one", "none"]),
  }),
  /** File for the results. */
  results: z.string(),
});
export type InsideGiven = z.infer<typeof insideGiven>;

async function measure(given: InsideGiven): Promise<void> {
  const { nodes, stores, plan, rawProgram } = given;
  await using undo = new AsyncDisposableStack();
  for (const store of STORES) {
    const { netnsFile, address } = stores[store];
    const args = ["serve", String(RAW_PORT)];
    const serving = await startListening(
      { netns: netnsFile, address, port: RAW_PORT },
      { program: rawProgram, args, env: {} },
    );
    undo.defer(() => serving.stop());
  }
  const raw: RawRun[] = [];
  const measurePlainTcp = async (killed: Killed | null): Promise<void> => {
    const startedAt = performance.now();
    const alive = nodes.filter(({ name }) => name !== killed?.node);
    const about = { program: rawProgram, nodes: alive, bytes: plan.bytes, connections: plan.connections };
    const fileOf = (name: string): string => nodes.find((node) => node.name === name)?.netnsFile ?? "";
    raw.push(...(await measureRaw({ ...about, fileOf, addressOf: (store) => stores[store].address })));
    console.log(`  plain TCP over every link took ${((performance.now() - startedAt) / 1000).toFixed(0)} s`);
  };
  await measurePlainTcp(null);
  const fleet = undo.use(await openFleet(given));
  console.log(`  ${nodes.length} nodes are online`);
  const benchmarked = await runBenchmark(fleet, plan, measurePlainTcp);
  await writeFile(given.results, JSON.stringify(judge(benchmarked, { plan, fleet: nodes, raw })));
}

await measure(insideGiven.parse(JSON.parse(await readFile(process.argv[2] ?? "", "utf8"))));
