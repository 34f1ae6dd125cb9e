import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runName } from "#protocol/base/names.ts";
import { compareLosses, type Life } from "./compare-losses.ts";
import { createRandom } from "../faults/random.ts";
import type { Stage } from "./open-stage.ts";
import { ROOT, type RunningProcess } from "./start-process.ts";
import { waitUntil } from "./wait-until.ts";

/** Which variant of `training.py` to run, and how often to kill it. */
export interface Killing {
  kind: string;
  kills: number;
  seed: number;
  python?: string;
}

export interface Killed {
  /** Deviations, as sentences. */
  problems: string[];
  /** Number of interruptions that lost steps, by the hub's ledger. */
  losses: number;
  lostSteps: number;
}

const ARCHIVE = join(ROOT, "e2e/stage/fixtures/real-checkpoints.tar.gz");

/**
 * Starts a program under `tidemark run` and repeatedly kills worker and program with SIGKILL at random moments. Compares the
 * resume steps and the hub's lost work with the program's own log.
 */
export async function killTraining(stage: Stage, killing: Killing): Promise<Killed> {
  const { kind, kills, seed, python = process.env["PYTHON"] ?? "python3" } = killing;
  const random = createRandom(seed);
  const folder = stage.folderOf(kind);
  const fixtures = join(stage.dir, "fixtures");
  mkdirSync(fixtures, { recursive: true });
  execFileSync("tar", ["xzf", ARCHIVE, "-C", fixtures]);
  const log = join(stage.dir, `${kind}.log`);
  // Last step in the log of this execution; `start` empties the log.
  const logged = () => Number(readFileSync(log, "utf8").trim().split("\n").at(-1) ?? 0);
  const script = [python, "-B", join(ROOT, "e2e/stage/training.py"), kind, folder, log];
  const start = (until: number) => {
    writeFileSync(log, "");
    return stage.startNode({ name: kind, run: kind, program: [...script, String(until), fixtures] });
  };
  const problems: string[] = [];
  const lives: Life[] = [];
  const begin = async (worker: RunningProcess): Promise<number> => {
    const found = await waitUntil("it goes on", () =>
      /starts at (\d+)|The program ended with (\d+)/.exec(worker.lines.join("\n"))?.slice(1),
    );
    if (found[1] !== undefined) problems.push(`life ${lives.length + 1} ended with ${found[1]}`);
    const from = Number(found[0] ?? 0);
    const before = lives.at(-1);
    if (before !== undefined) before.from = from;
    return from;
  };
  for (let count = 0; count < kills && problems.length === 0; count++) {
    const worker = await start(1_000_000);
    const from = await begin(worker);
    // Sometimes this is before its first step.
    const wanted = from + Math.floor(random.next() * 35);
    const hasEnded = () => worker.lines.some((line) => line.includes("The program ended with"));
    await waitUntil("it has come so far", () => Math.max(logged(), from) >= wanted || hasEnded());
    if (hasEnded()) problems.push(`life ${count + 1}: ${worker.lines.slice(-12).join(" / ")}`);
    const moment = performance.now() + random.next() * 30;
    await waitUntil("the moment of the kill", () => performance.now() >= moment, { everyMs: 1 });
    await worker.stop("SIGKILL");
    lives.push({ from: -1, last: Math.max(logged(), from) });
  }
  const last = await start(0);
  await begin(last);
  const { code } = await last.exited;
  if (code !== 0) problems.push(`the last life ended with ${code}: ${last.lines.slice(-12).join(" / ")}`);
  const query = { run: runName.parse(kind), nodeId: null, before: null, limit: 200 };
  const told = await stage.client.losses.list.query(query);
  problems.push(...compareLosses(lives, told));
  return { problems, losses: told.length, lostSteps: told.reduce((sum, { lostSteps }) => sum + lostSteps, 0) };
}
