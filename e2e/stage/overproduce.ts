import { existsSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { type RunName, runName } from "#protocol/base/names.ts";
import type { Stage } from "./open-stage.ts";
import type { Staged } from "./stage-over.ts";
import { waitUntil } from "./wait-until.ts";
import { writeCheckpoint } from "./write-checkpoint.ts";

/** Final states of a transfer. */
const ENDS: ReadonlySet<string> = new Set(["safe", "failed", "cancelled", "superseded"]);

/** A program that writes more checkpoints than its uplink carries and than the worker may keep. */
export interface Overproduction {
  name: string;
  checkpoints: number;
  checkpointBytes: number;
  budgetBytes: number;
  upBytesPerSecond: number;
}

export interface Overproduced {
  /** Most disk space that captures ever used, in bytes. */
  mostHeldBytes: number;
  /** Final state per step, as the hub knows it, or as the worker alone has said: `safe`, `superseded`, or another reported state. */
  ends: Map<number, string>;
  newestSafe: number | null;
  said: string;
}

/**
 * Writes the checkpoints one after another and keeps the last two, like a trainer with `save_total_limit`. Resolves when no
 * transfer moves any more.
 */
export async function overproduce(staged: Staged, about: Overproduction): Promise<Overproduced> {
  const { name, checkpoints, checkpointBytes, budgetBytes, upBytesPerSecond } = about;
  const run = runName.parse(name);
  const flags = ["--disk-budget", String(budgetBytes), "--limit-up", String(upBytesPerSecond), "--settle", "100ms"];
  const worker = await staged.startNode({ name, run, flags });
  const folder = staged.folderOf(name);
  const captures = join(staged.stateOf(name), "captures");
  let mostHeldBytes = 0;
  const look = () => {
    mostHeldBytes = Math.max(mostHeldBytes, sizeOf(captures));
  };
  for (let count = 1; count <= checkpoints; count++) {
    const step = count * 10;
    writeCheckpoint({ folder, step, modelBytes: checkpointBytes, optimizerBytes: 0, loss: 1 / step });
    rmSync(join(folder, `checkpoint-${step - 20}`), { recursive: true, force: true });
    // Waits until the worker has seen each step, to emulate the duration of a step.
    await waitUntil(`step ${step} is seen`, () => {
      look();
      return worker.lines.some((line) => line.includes(`step ${step.toLocaleString("en-US")}`));
    });
  }
  const last = checkpoints * 10;
  const stepsSafe = async () => (await staged.completeOf(run)).map(({ step }) => step);
  await waitUntil("the last one is safe", async () => (look(), (await stepsSafe()).includes(last)));
  // A checkpoint can be complete before the node's next report has described its transfer.
  const ends = await waitUntil("no transfer moves any more", async () => {
    const ends = staged.implementation === "hub" ? await endsOf(staged.stage(), run) : endsSaid(worker.lines);
    return ends.has(last) && [...ends.values()].every((end) => ENDS.has(end)) && ends;
  });
  const safe = await stepsSafe();
  return { mostHeldBytes, ends, newestSafe: Math.max(...safe), said: worker.lines.join("\n") };
}

/** Returns how the upload of each step ended, by what the worker has said of it. */
function endsSaid(lines: readonly string[]): Map<number, string> {
  const ends = new Map<number, string>();
  for (const line of lines) {
    const [, words, step] = /(Safe:|Passed over) \S+ step (\d+)/.exec(line) ?? [];
    if (step !== undefined) ends.set(Number(step), words === "Safe:" ? "safe" : "superseded");
  }
  return ends;
}

/** Returns the state of the newest transfer of each step. */
async function endsOf(stage: Stage, run: RunName): Promise<Map<number, string>> {
  const ends = new Map<number, string>();
  for (let cursor: string | null = null, isMore = true; isMore;) {
    const query = { nodeId: null, run, states: [], cursor, limit: 200 };
    const page: Awaited<ReturnType<typeof stage.client.transfers.list.query>> =
      await stage.client.transfers.list.query(query);
    for (const { step, state } of page.rows) if (!ends.has(step)) ends.set(step, state === "done" ? "safe" : state);
    cursor = page.nextCursor;
    isMore = cursor !== null;
  }
  return ends;
}

function sizeOf(folder: string): number {
  if (!existsSync(folder)) return 0;
  let bytes = 0;
  for (const entry of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    const stats = statSync(join(folder, entry), { throwIfNoEntry: false });
    if (stats?.isFile() === true) bytes += stats.size;
  }
  return bytes;
}
