import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { addToken } from "#e2e/stage/provision.ts";
import { openStage, type Stage } from "#e2e/stage/open-stage.ts";
import { ROOT } from "#e2e/stage/start-process.ts";
import { BenchError } from "../bench-error.ts";
import { describeMachine } from "../report/describe-machine.ts";
import { driveSimulators, type Simulators } from "./drive-simulators.ts";
import { missingEnds } from "./missing-ends.ts";
import { percentile } from "./percentile.ts";
import { usageOf } from "./watch-process.ts";
import { watchScreen } from "./watch-screen.ts";

/** `npm run bench -- fleet`: as many nodes as asked for on one hub that has one core. */

export const FLEET_HELP = `npm run bench -- fleet [--nodes N] [--seconds S] [--every S] [--interval S] [--kills N] [--no-screen] [--save]

  --nodes N       simulated nodes (10000), in the real protocol, each with a stream of its own
  --seconds S     how long each phase is measured (60)
  --every S       seconds between two reports of a node (5)
  --interval S    seconds between two uploads of a node (600)
  --kills N       kill -9 the hub so often under that load, and say what came of it
  --no-screen     without Chromium and its person
  --save          keep the results in bench/results/fleet.json`;

interface Phase {
  phase: string;
  seconds: number;
  /** Share of one core. */
  cpu: number;
  rssMb: number;
}

async function measurePhase(phase: string, stage: Stage, seconds: number): Promise<Phase> {
  const before = await usageOf(stage.hub.pid);
  const startedAt = performance.now();
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  const after = await usageOf(stage.hub.pid);
  const took = (performance.now() - startedAt) / 1000;
  const found = { phase, seconds: took, cpu: (after.cpuSeconds - before.cpuSeconds) / took, rssMb: after.rssBytes / 1e6 };
  console.log(`  ${phase}: ${(found.cpu * 100).toFixed(1)} % of one core, ${found.rssMb.toFixed(0)} MB`);
  return found;
}

export async function benchFleet(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      nodes: { type: "string", default: "10000" },
      seconds: { type: "string", default: "60" },
      every: { type: "string", default: "5" },
      interval: { type: "string", default: "600" },
      kills: { type: "string", default: "0" },
      "no-screen": { type: "boolean", default: false },
      save: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) {
    console.log(FLEET_HELP);
    return;
  }
  const [nodes, seconds, every, interval, kills] = [values.nodes, values.seconds, values.every, values.interval, values.kills].map(Number);
  await using stage = await openFleetStage({ nodes, pages: values["no-screen"] ? "left out" : "served" });
  const token = await addToken(stage.client, { profileId: stage.profileId, maxUses: nodes });
  console.log(`${nodes} nodes, a report of each every ${every} s, an upload every ${interval} s`);
  const startedAt = performance.now();
  const simulators = await driveSimulators({
    url: stage.hub.url, token, nodes, everyMs: every * 1000, intervalMs: interval * 1000, processes: 2, under: ["taskset", "-c", "1"],
  });
  try {
    await simulators.ready;
    console.log(`  all connected after ${((performance.now() - startedAt) / 1000).toFixed(0)} s`);
    await new Promise((resolve) => setTimeout(resolve, 10_000));
    const phases = [await measurePhase("nobody looks", stage, seconds)];
    if (!values["no-screen"]) {
      const watched = (await stage.client.nodes.list.query()).find(({ name }) => name === "sim-00000");
      const screen = await watchScreen(stage.hub.url, watched?.id ?? "");
      phases.push(await measurePhase("somebody looks", stage, seconds));
      const seen = await screen.seen();
      await screen.close();
      const ways = [...seen].flatMap(([value, at]) => simulators.marks.has(value) ? [at - (simulators.marks.get(value) ?? 0)] : []);
      console.log(`  from report to screen: ${ways.length} seen, P50 ${percentile(ways, 0.5)} ms, P95 ${percentile(ways, 0.95)} ms`);
    }
    console.log(`  refused: ${simulators.refused.length} ${simulators.refused.slice(0, 3).join(" | ")}`);
  } finally {
    await simulators.stop();
  }
  await stage.hub.stop();
  const missing = missingEnds(join(stage.dir, "hub"), simulators.acknowledged);
  console.log(`  ${simulators.acknowledged.size} ends acknowledged, ${missing.length} lost`);
}

async function openFleetStage(about: { nodes: number; pages: "served" | "left out" }): Promise<Stage & AsyncDisposable> {
  const stage = await openStage({ hub: { pages: about.pages, under: ["taskset", "-c", "0"] } });
  return Object.assign(stage, { [Symbol.asyncDispose]: () => stage.close() });
}
