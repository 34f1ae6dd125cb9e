import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startPostgres } from "#e2e/servers/start-postgres.ts";
import { openStage, type Stage } from "#e2e/stage/open-stage.ts";
import { addToken } from "#e2e/stage/provision.ts";
import { ROOT } from "#e2e/stage/start-process.ts";
import { BenchError } from "../bench-error.ts";
import { readCount } from "../read-count.ts";
import { describeMachine } from "../report/describe-machine.ts";
import { commandOf } from "../report/measured-with.ts";
import { driveSimulators, type Simulators } from "./drive-simulators.ts";
import { killHubs } from "./kill-hubs.ts";
import { missingEnds } from "./missing-ends.ts";
import { percentile } from "./percentile.ts";
import { type FleetMeasured, type FleetResult, type Phase, readFleetResults, saveFleetResult } from "./result.ts";
import { sendCommands } from "./send-commands.ts";
import { usageOf } from "./watch-process.ts";
import { watchScreen } from "./watch-screen.ts";
import { fleetPage, requirementsOf } from "./write-page.ts";

/** `npm run bench -- fleet`: simulates a fleet on one hub that has one core of this machine. */

export const FLEET_HELP = `npm run bench -- fleet [--nodes N] [--seconds S] [--every S] [--interval S] [--kills N] [--no-screen] [--database postgres] [--save | --report]

  --nodes N       simulated nodes (10000), in the real protocol, each with a stream of its own
  --seconds S     how long each phase is measured (60)
  --every S       seconds between two reports of a node (5)
  --interval S    seconds between two uploads of a node (600)
  --kills N       kill -9 the hub so often under that load, and say what came of it (0)
  --no-screen     without Chromium and its person
  --database postgres
                  the same on SQLite and then on PostgreSQL, and how much more CPU a node costs the hub there
  --save          keep the results in bench/results/fleet/ and write docs/fleet.md
  --report        only write docs/fleet.md again`;

const PAGE = join(ROOT, "docs/fleet.md");

const after = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function measurePhase(stage: Stage, phase: string, work: () => Promise<void>): Promise<Phase> {
  const before = await usageOf(stage.hub.pid);
  const startedAt = performance.now();
  await work();
  const end = await usageOf(stage.hub.pid);
  const seconds = (performance.now() - startedAt) / 1000;
  const found = { phase, seconds, cpu: (end.cpuSeconds - before.cpuSeconds) / seconds, rssMb: end.rssBytes / 1e6 };
  console.log(`  ${phase}: ${(found.cpu * 100).toFixed(1)} % of one core, ${found.rssMb.toFixed(0)} MB`);
  return found;
}

const ENGINES = ["sqlite", "postgres"] as const;
type Engine = (typeof ENGINES)[number];

/** How much more CPU a node may cost a hub on PostgreSQL than one on SQLite. */
const MOST_RATIO = 1.3;

interface Options {
  nodes: number;
  seconds: number;
  every: number;
  interval: number;
  kills: number;
  screen: "with" | "without";
  databases: readonly Engine[];
  save: boolean;
}

async function writePage(): Promise<void> {
  await writeFile(PAGE, fleetPage(await readFleetResults()));
  console.log("docs/fleet.md is written.");
}

/** Parses the command line. @throws BenchError that says what was not understood */
function readFleetOptions(args: readonly string[]): Options | "help" | "report" {
  const { values } = parseArgs({
    args: [...args],
    options: {
      nodes: { type: "string", default: "10000" },
      seconds: { type: "string", default: "60" },
      every: { type: "string", default: "5" },
      interval: { type: "string", default: "600" },
      kills: { type: "string", default: "0" },
      "no-screen": { type: "boolean", default: false },
      database: { type: "string", default: "sqlite" },
      save: { type: "boolean", default: false },
      report: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) return "help";
  if (values.report) return "report";
  const engine = ENGINES.find((one) => one === values.database);
  if (engine === undefined) throw new BenchError(`--database is sqlite or postgres, not ${values.database}.`);
  if (engine === "postgres" && values.save) throw new BenchError("--save keeps results of SQLite only.");
  const count = (name: "nodes" | "seconds" | "every" | "interval" | "kills", least: number): number =>
    readCount(`--${name}`, values[name], least);
  return {
    nodes: count("nodes", 1),
    seconds: count("seconds", 1),
    every: count("every", 1),
    interval: count("interval", 10),
    kills: count("kills", 0),
    screen: values["no-screen"] ? "without" : "with",
    databases: engine === "sqlite" ? [engine] : ENGINES,
    save: values.save,
  };
}

/** Runs `work` while a browser shows one node. Returns how long each number took from its report to the screen, ms. */
async function lookAtOne(stage: Stage, simulators: Simulators, work: () => Promise<void>): Promise<number[]> {
  const watched = (await stage.client.nodes.list.query()).find(({ name }) => name === "sim-00000");
  if (watched === undefined) throw new BenchError("The first node is not there.");
  const screen = await watchScreen(stage.hub.url, watched.id);
  await work();
  const seen = await screen.seen();
  await screen.close();
  return [...seen].flatMap(([value, at]) => {
    const saidAt = simulators.marks.get(value);
    return saidAt === undefined ? [] : [at - saidAt];
  });
}

async function run(stage: Stage, options: Options, url: string | null): Promise<FleetMeasured> {
  const { nodes, seconds, every, interval, kills } = options;
  const token = await addToken(stage.client, { profileId: stage.profileId, maxUses: nodes });
  const startedAt = performance.now();
  const simulators = await driveSimulators({
    url: stage.hub.url,
    token,
    nodes,
    everyMs: every * 1000,
    intervalMs: interval * 1000,
    processes: 2,
    under: ["taskset", "-c", "1"],
  });
  const phases: Phase[] = [];
  let commandMs: number[] = [];
  let screenMs: number[] | null = null;
  let killed: FleetMeasured["killed"] = null;
  let connectedSeconds = 0;
  try {
    await simulators.ready;
    connectedSeconds = (performance.now() - startedAt) / 1000;
    console.log(`  all connected after ${connectedSeconds.toFixed(0)} s`);
    const nodeIds = (await stage.client.nodes.list.query()).map(({ id }) => id);
    await after(every * 2_000);
    phases.push(await measurePhase(stage, "nobody looks", () => after(seconds * 1000)));
    commandMs = await sendCommands(stage, { simulators, nodeIds });
    console.log(`  commands: P50 ${percentile(commandMs, 0.5)} ms, P99 ${percentile(commandMs, 0.99)} ms`);
    if (options.screen === "with") {
      const look = async () => {
        await after(5_000);
        phases.push(await measurePhase(stage, "somebody looks", () => after(seconds * 1000)));
      };
      screenMs = await lookAtOne(stage, simulators, look);
      console.log(`  report to screen: P50 ${percentile(screenMs, 0.5)} ms, P95 ${percentile(screenMs, 0.95)} ms`);
    }
    if (kills > 0) killed = await killHubs(stage, { simulators, nodeIds, kills });
    // Ends that are acknowledged from here on are not checked.
    for (const refused of simulators.refused.slice(0, kills > 0 ? 0 : 5)) console.log(`  refused: ${refused}`);
  } finally {
    await simulators.stop();
  }
  await stage.hub.stop();
  const lost = await missingEnds({ dataDir: join(stage.dir, "hub"), url }, simulators.acknowledged);
  const twice = [...simulators.commands.values()].filter(({ executed }) => executed > 1).length;
  return {
    nodes,
    everySeconds: every,
    intervalSeconds: interval,
    connectedSeconds,
    phases,
    killed,
    commandMs: {
      count: commandMs.length,
      p50: finiteOrNull(percentile(commandMs, 0.5)),
      p99: finiteOrNull(percentile(commandMs, 0.99)),
    },
    screenMs:
      screenMs === null
        ? null
        : { count: screenMs.length, p50: percentile(screenMs, 0.5), p95: percentile(screenMs, 0.95) },
    acknowledgedEnds: simulators.acknowledged.size,
    lostEnds: lost.length,
    commandsTwice: twice,
  };
}

const finiteOrNull = (value: number): number | null => (Number.isFinite(value) ? value : null);

export async function benchFleet(args: readonly string[]): Promise<void> {
  const options = readFleetOptions(args);
  if (options === "help") {
    console.log(FLEET_HELP);
    return;
  }
  if (options === "report") {
    await writePage();
    return;
  }
  const machine = await describeMachine({ congestion: "", link: null, server: "store" });
  console.log(
    `${options.nodes} nodes, a report of each every ${options.every} s, an upload every ${options.interval} s`,
  );
  const results: FleetResult[] = [];
  for (const database of options.databases) {
    if (options.databases.length > 1) console.log(database === "sqlite" ? "SQLite:" : "PostgreSQL:");
    const result = { ...machine, command: commandOf("fleet", args), ...(await runOn(database, options)) };
    results.push(result);
    for (const { says, isMet } of requirementsOf(result)) if (!isMet) failWith(says);
    if (options.save) await saveFleetResult(result);
  }
  if (options.save) await writePage();
  const [first, second] = results;
  if (first !== undefined && second !== undefined) compareCost(first, second);
}

function failWith(says: string): void {
  console.log(`x ${says}`);
  process.exitCode = 1;
}

/** Compares the CPU of the hubs while nobody looks. */
function compareCost(sqlite: FleetMeasured, postgres: FleetMeasured): void {
  const ratio = (postgres.phases[0]?.cpu ?? Number.NaN) / (sqlite.phases[0]?.cpu ?? Number.NaN);
  console.log(
    `CPU of the hub per node on PostgreSQL: ${ratio.toFixed(2)} times that on SQLite, without the server's own`,
  );
  if (!(ratio <= MOST_RATIO)) failWith(`at most ${MOST_RATIO} times`);
}

/** Runs the whole measurement on a new hub. The server has the core of the nodes, as another machine would be. */
async function runOn(database: Engine, options: Options): Promise<FleetMeasured> {
  const under = ["taskset", "-c", "1"];
  const server = database === "sqlite" ? null : await startPostgres({ isDurable: true, under });
  try {
    const url = server === null ? null : await server.create("fleet");
    const pages = options.screen === "with" ? ("served" as const) : ("left out" as const);
    // A hub with a key of its own starts on an empty database, where the prepared one has an account.
    const env = url === null ? {} : { TIDEMARK_DATABASE_URL: url, TIDEMARK_SECRET: randomBytes(32).toString("base64") };
    const stage = await openStage({ hub: { pages, env, under: ["taskset", "-c", "0"] } });
    try {
      const result = await run(stage, options, url);
      console.log(`  ${result.acknowledgedEnds} ends acknowledged, ${result.lostEnds} of them lost`);
      console.log(`  ${result.commandsTwice} commands executed twice`);
      return result;
    } finally {
      await stage.close();
    }
  } finally {
    await server?.close();
  }
}
