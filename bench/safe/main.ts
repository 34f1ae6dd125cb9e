import { closeSync, mkdirSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import { randomFillSync } from "node:crypto";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { keysInEnv } from "#e2e/stage/keys-in-env.ts";
import { openStage, type Stage } from "#e2e/stage/open-stage.ts";
import type { RunningProcess } from "#e2e/stage/start-process.ts";
import { ROOT } from "#e2e/stage/start-process.ts";
import { startWorker } from "#e2e/stage/start-worker.ts";
import { waitUntil } from "#e2e/stage/wait-until.ts";
import { parseJsonOrNull } from "#protocol/base/parse-json-or-null.ts";
import { medianOf } from "#protocol/base/robust.ts";
import { usageOf } from "../fleet/watch-process.ts";
import { readCount } from "../read-count.ts";
import { describeMachine } from "../report/describe-machine.ts";

/**
 * `npm run bench -- safe`: measures the time from a complete checkpoint on the disk until it is safe, and the CPU of the worker,
 * with a hub and with a bucket alone, in turns.
 */

const HELP = `npm run bench -- safe [--size MB] [--rounds N]

  --size MB    size of a checkpoint (256)
  --rounds N   checkpoints of each worker (7)`;

const PIECE = 4 * 1024 * 1024;
const SETTLE = ["--settle", "500ms", "--json"];

/** One worker, and what it says. */
interface Node {
  name: "with a hub" | "alone";
  folder: string;
  worker: RunningProcess;
  /** Steps that are safe. */
  safe: Set<number>;
}

/** Records which steps a worker reports as safe. */
function safeSteps(): { safe: Set<number>; onLine: (line: string) => void } {
  const safe = new Set<number>();
  const onLine = (line: string): void => {
    const said: unknown = parseJsonOrNull(line);
    if (typeof said !== "object" || said === null || !("type" in said) || said.type !== "done") return;
    if ("step" in said && typeof said.step === "number" && "fault" in said && said.fault === null) safe.add(said.step);
  };
  return { safe, onLine };
}

async function startNodes(stage: Stage): Promise<Node[]> {
  const entry = join(ROOT, "dist/tidemark.mjs");
  const hubSays = safeSteps();
  const withHub = await stage.startNode({
    name: "hub",
    entry,
    token: stage.token,
    run: "with-hub",
    watch: stage.folderOf("hub"),
    flags: SETTLE,
    onLine: hubSays.onLine,
  });
  const aloneSays = safeSteps();
  const folder = stage.folderOf("alone");
  mkdirSync(folder, { recursive: true });
  const alone = await startWorker({
    hubUrl: null,
    entry,
    stateDir: join(stage.dir, "nodes", "alone", "state"),
    name: "alone",
    run: "alone",
    watch: folder,
    flags: ["--to", `s3://${stage.store.bucket}/alone`, ...SETTLE],
    env: keysInEnv(stage.store),
    onLine: aloneSays.onLine,
  });
  return [
    { name: "with a hub", folder: stage.folderOf("hub"), worker: withHub, safe: hubSays.safe },
    { name: "alone", folder, worker: alone, safe: aloneSays.safe },
  ];
}

/** Writes a checkpoint of random bytes beside its place. Returns the path to rename, and the place. */
function prepareCheckpoint(folder: string, step: number, sizeBytes: number): { part: string; path: string } {
  const path = join(folder, `checkpoint-${step}`);
  const part = `${path}.part`;
  mkdirSync(part, { recursive: true });
  const file = openSync(join(part, "model.bin"), "w");
  const piece = Buffer.alloc(PIECE);
  for (let at = 0; at < sizeBytes; at += PIECE)
    writeSync(file, randomFillSync(piece), 0, Math.min(PIECE, sizeBytes - at));
  closeSync(file);
  return { part, path };
}

/** Measures one checkpoint: seconds until it is safe, and CPU seconds of the worker meanwhile. */
async function measureSafe(node: Node, step: number, sizeBytes: number): Promise<{ seconds: number; cpu: number }> {
  const { part, path } = prepareCheckpoint(node.folder, step, sizeBytes);
  const before = await usageOf(node.worker.pid);
  const startedAt = performance.now();
  renameSync(part, path);
  await waitUntil(`step ${step} is safe ${node.name}`, () => node.safe.has(step), { everyMs: 2 });
  const seconds = (performance.now() - startedAt) / 1000;
  const { cpuSeconds } = await usageOf(node.worker.pid);
  rmSync(path, { recursive: true });
  return { seconds, cpu: cpuSeconds - before.cpuSeconds };
}

/** Lets both workers keep checkpoints safe in turns, and prints medians and their ratios. */
export async function benchSafe(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    strict: true,
    options: {
      size: { type: "string", default: "256" },
      rounds: { type: "string", default: "7" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    console.log(HELP);
    return;
  }
  const sizeBytes = readCount("--size", values.size) * 1_000_000;
  const rounds = readCount("--rounds", values.rounds);
  const { machine } = await describeMachine({ link: null, server: "store", congestion: "" });
  const stage = await openStage();
  const nodes: Node[] = [];
  try {
    nodes.push(...(await startNodes(stage)));
    const seconds = new Map(nodes.map(({ name }) => [name, [] as number[]]));
    const cpu = new Map(nodes.map(({ name }) => [name, [] as number[]]));
    // The first checkpoint of each compiles code and opens connections; it is not counted.
    for (let round = 0; round <= rounds; round++) {
      for (const node of round % 2 === 0 ? nodes : nodes.toReversed()) {
        const found = await measureSafe(node, round + 1, sizeBytes);
        if (round === 0) continue;
        seconds.get(node.name)?.push(found.seconds);
        cpu.get(node.name)?.push(found.cpu / (sizeBytes / 1e9));
        console.log(
          `  ${round}  ${node.name.padEnd(10)}  ${found.seconds.toFixed(3)} s  ${found.cpu.toFixed(2)} CPU s`,
        );
      }
    }
    const middle = (of: Map<string, number[]>, name: Node["name"]) => medianOf(of.get(name) ?? []);
    console.log(`${rounds} checkpoints of ${values.size} MB each way, in turns`);
    console.log(`  ${machine.cores} cores of ${machine.cpu}, load before ${machine.loadBefore}`);
    for (const [what, of] of [
      ["seconds until safe", seconds],
      ["CPU seconds a GB", cpu],
    ] as const) {
      const [hub, alone] = [middle(of, "with a hub"), middle(of, "alone")];
      console.log(
        `  ${what}: ${hub.toFixed(3)} with a hub, ${alone.toFixed(3)} alone, ratio ${(alone / hub).toFixed(3)}`,
      );
    }
  } finally {
    await Promise.all(nodes.map(({ worker }) => worker.stop()));
    await stage.close();
  }
}
