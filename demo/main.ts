import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { z } from "zod";
import { build } from "#e2e/gate/build.ts";
import { createHubClient, signIn } from "#e2e/stage/hub-client.ts";
import { addProfile, addToken } from "#e2e/stage/provision.ts";
import { HUB_SOURCES, startHub } from "#e2e/stage/start-hub.ts";
import type { RunningProcess } from "#e2e/stage/start-process.ts";
import { startStore } from "#e2e/stage/start-store.ts";
import { startWorker, WORKER_SOURCES } from "#e2e/stage/start-worker.ts";

/**
 * `npm run demo`: a store, a hub and a few nodes on this machine, each node with a training loop that writes real
 * checkpoints over an uplink slow enough to watch. Everything is kept in .demo/, so a second start goes on where the
 * first one stopped.
 */

const HELP = `npm run demo -- [--nodes N] [--port N] [--reset] [--leave-dead]

  --nodes N   how many nodes to start (3, at most 24)
  --port N    port of the hub (7140, or the next free one)
  --dir DIR   where the demo keeps its data (.demo)
  --reset     throw away the data of earlier demos first
  --leave-dead  do not start a node again whose worker was killed
`;

/** Runs and uplinks of the nodes. The third uplink is too slow for its checkpoints, so that some work is always at risk. */
const NODES = [
  {
    run: "llama-8b-sft",
    up: "3MB",
    every: "30s",
    model: "32MiB",
    optimizer: "12MiB",
    gpu: "RTX 4090",
    region: "us-east",
  },
  { run: "flux-lora", up: "1500KB", every: "40s", model: "20MiB", optimizer: "4MiB", gpu: "RTX 4080", region: "de" },
  { run: "md-kinase", up: "700KB", every: "35s", model: "24MiB", optimizer: "8MiB", gpu: "RTX 3090", region: "br" },
] as const;

const saved = z.object({ accessKey: z.string(), secretKey: z.string(), email: z.string(), password: z.string() });

function fail(sentence: string): never {
  console.error(`\n${sentence}`);
  process.exit(2);
}

function readOptions() {
  try {
    const { values } = parseArgs({
      options: {
        nodes: { type: "string", default: "3" },
        port: { type: "string" },
        dir: { type: "string", default: ".demo" },
        reset: { type: "boolean", default: false },
        "leave-dead": { type: "boolean", default: false },
        help: { type: "boolean", default: false },
      },
    });
    const nodes = Number(values.nodes);
    if (!Number.isInteger(nodes) || nodes < 1 || nodes > 24)
      fail(`--nodes ${values.nodes}: choose a number from 1 to 24.`);
    const port = values.port === undefined ? null : Number(values.port);
    if (port !== null && !(Number.isInteger(port) && port > 0 && port < 65_536))
      fail(`--port ${values.port}: this is not a port.`);
    return { ...values, nodes, port, dir: resolve(values.dir) };
  } catch (error) {
    fail(`${error instanceof Error ? error.message : String(error)}\n\n${HELP}`);
  }
}

const isFree = (port: number): Promise<boolean> =>
  new Promise((done) => {
    const probe = createServer();
    probe.once("error", () => done(false));
    probe.listen(port, "127.0.0.1", () => probe.close(() => done(true)));
  });

async function choosePort(requested: number | null): Promise<number> {
  if (requested !== null) {
    if (await isFree(requested)) return requested;
    fail(`Port ${requested} is already in use. Stop the program that holds it, or choose another with --port.`);
  }
  for (let port = 7140; port < 7160; port++) if (await isFree(port)) return port;
  fail("Ports 7140 to 7159 are all in use. Choose one with --port.");
}

function readSaved(dir: string): z.infer<typeof saved> {
  const file = join(dir, "demo.json");
  if (existsSync(file)) return saved.parse(JSON.parse(readFileSync(file, "utf8")));
  const fresh = {
    accessKey: `demo${randomBytes(8).toString("hex")}`,
    secretKey: randomBytes(24).toString("base64url"),
    email: "you@demo.local",
    password: `tide-${randomBytes(6).toString("hex")}`,
  };
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  writeFileSync(file, JSON.stringify(fresh, null, 2), { mode: 0o600 });
  return fresh;
}

const options = readOptions();
if (options.help) {
  console.log(HELP);
  process.exit(0);
}
const startedAt = performance.now();
const running: { title: string; process: RunningProcess }[] = [];
let stopping = false;

/** Stops the workers before the hub, so that they can still report that they leave. */
async function stopAll(code: number): Promise<void> {
  if (stopping) return;
  stopping = true;
  console.log("\nStopping.");
  for (const title of ["worker", "hub", "store"]) {
    await Promise.all(running.filter((one) => one.title === title).map((one) => one.process.stop()));
  }
  process.exit(code);
}
process.on("SIGINT", () => void stopAll(0));
process.on("SIGTERM", () => void stopAll(0));

function keep(title: string, started: RunningProcess): void {
  running.push({ title, process: started });
  void started.exited.then(({ code }) => {
    if (stopping) return;
    console.error(`\nThe ${title} ended by itself (${code}):\n${started.lines.slice(-15).join("\n")}`);
    void stopAll(1);
  });
}

async function main(): Promise<void> {
  if (options.reset && existsSync(options.dir) && !existsSync(join(options.dir, "demo.json")))
    fail(`--reset: ${options.dir} holds no demo, so nothing of it is removed. Choose another folder with --dir.`);
  if (options.reset) rmSync(options.dir, { recursive: true, force: true });
  const port = await choosePort(options.port);
  await build();
  const person = readSaved(options.dir);
  const store = await startStore({
    dataDir: join(options.dir, "store"),
    bucket: "training",
    accessKey: person.accessKey,
    secretKey: person.secretKey,
    corsOrigin: `http://127.0.0.1:${port}`,
  });
  keep("store", store);
  const dataDir = join(options.dir, "hub");
  const hub = await startHub({ dataDir, port, admin: person, pages: "served", program: HUB_SOURCES });
  keep("hub", hub);
  const client = createHubClient(hub.url, await signIn(hub.url, person));
  const profileId = await addProfile(client, { name: "demo bucket", store });
  await client.profiles.test.mutate({ id: profileId, profile: null, credential: null });
  const token = await addToken(client, { profileId, maxUses: options.nodes });
  const pids: string[] = [];
  for (let index = 0; index < options.nodes; index++) {
    const worker = await startNode({ index, hubUrl: hub.url, token });
    pids.push(`  ${nameOf(index)}   worker ${worker.pid}`);
  }
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  console.log(`
Tidemark demo is ready at ${hub.url} (${seconds} s)

  sign in    ${person.email}
  password   ${person.password}

  ${options.nodes} ${options.nodes === 1 ? "node writes" : "nodes write"} checkpoints to a bucket on this machine; data is kept in ${options.dir}.
  Ctrl-C stops everything.

${pids.join("\n")}

  kill -9 of a worker is what a rented machine does: the page shows what would be lost${
    options["leave-dead"]
      ? "."
      : `, and after ${RESTART_MS / 1000} s the node is
  started again on an empty disk, as a platform does, and goes on from its newest complete checkpoint.`
  }
`);
}

/** Time until a platform has started a node again, ms. */
const RESTART_MS = 15_000;

interface NodeAt {
  index: number;
  hubUrl: string;
  token: string;
}

const nameOf = (index: number): string => `gpu-${index + 1}`;

/** Starts a node, and starts it again whenever its worker ends by itself. */
async function startNode(at: NodeAt): Promise<RunningProcess> {
  const kind = NODES[at.index % NODES.length] ?? NODES[0];
  const round = Math.floor(at.index / NODES.length);
  const name = nameOf(at.index);
  const home = join(options.dir, "nodes", name);
  const watch = join(home, "checkpoints");
  mkdirSync(watch, { recursive: true });
  const train = ["--folder", watch, "--every", kind.every, "--model", kind.model, "--optimizer", kind.optimizer];
  const worker = await startWorker({
    entry: WORKER_SOURCES,
    hubUrl: at.hubUrl,
    stateDir: join(home, "state"),
    name,
    token: at.token,
    watch,
    run: round === 0 ? kind.run : `${kind.run}-${round + 1}`,
    flags: [
      "--limit-up",
      kind.up,
      "--limit-down",
      "12MB",
      "--label",
      `region=${kind.region}`,
      "--label",
      `gpu=${kind.gpu}`,
    ],
    program: [process.execPath, "demo/train.ts", ...train],
  });
  running.push({ title: "worker", process: worker });
  void worker.exited.then(({ code, signal }) => {
    if (!stopping) void replace(at, { watch, worker, how: signal ?? `exit code ${code}` });
  });
  return worker;
}

/** Does what a platform does with a node that died: it comes back after a while, with an empty disk. */
async function replace(at: NodeAt, died: { watch: string; worker: RunningProcess; how: string }): Promise<void> {
  const name = nameOf(at.index);
  running.splice(0, running.length, ...running.filter((one) => one.process !== died.worker));
  const isKilled = died.how === "SIGKILL";
  const lines = isKilled ? "" : `\n${died.worker.lines.slice(-15).join("\n")}`;
  console.log(
    `${name} died (${died.how}).${options["leave-dead"] ? "" : ` It is started again in ${RESTART_MS / 1000} s.`}${lines}`,
  );
  if (options["leave-dead"]) return;
  await new Promise((resolve) => setTimeout(resolve, RESTART_MS).unref());
  if (stopping) return;
  rmSync(died.watch, { recursive: true, force: true });
  try {
    const worker = await startNode(at);
    console.log(`${name} is back, worker ${worker.pid}.`);
  } catch (error) {
    console.error(`${name} could not be started again: ${error instanceof Error ? error.message : String(error)}`);
  }
}

try {
  await main();
} catch (error) {
  console.error(`\nThe demo could not start: ${error instanceof Error ? error.message : String(error)}`);
  await stopAll(1);
}
