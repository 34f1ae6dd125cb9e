import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { BenchError } from "./bench-error.ts";
import { type BenchCase, type Direction, linkRate } from "./cases.ts";
import { type Command, measure, type Measured } from "./measure/measure.ts";
import type { Run } from "./report/results.ts";
import { bytesOf, type Digests, findDifference, makePayload, type Shape } from "./stage/make-payload.ts";
import type { Stage } from "./stage/open-stage.ts";
import type { ReadyTool } from "./tools/find-tools.ts";
import { sdk } from "./tools/sdk.ts";
import { type ToolTask, type Tool } from "./tools/tool.ts";

/**
 * One case to run: every tool once, then every tool again, so that a slow minute of the machine affects all of them. Between
 * two runs the bucket (or the folder) is emptied; after each run every byte is compared by SHA-256.
 */
export interface CaseRun {
  benchCase: BenchCase;
  stage: Stage;
  shape: Shape;
  tools: readonly ReadyTool[];
  directions: readonly Direction[];
  repeat: number;
  signal: AbortSignal;
  onRun: (direction: Direction, run: Run) => void;
}

const KEY = "measured/object";
/** Time limit of a run: this many times what the link needs, plus a minute. */
const PATIENCE = 12;
const LEAST_LIMIT_MS = 60_000;
const ASSUMED_LOOPBACK_RATE = 1e9;

/** Runs a case. @throws BenchError when the store cannot be filled for downloads */
export async function runCase(options: CaseRun): Promise<Record<Direction, Run[]>> {
  const { stage, shape, tools, directions, repeat, signal } = options;
  const source = join(stage.folder, "source");
  await rm(source, { recursive: true, force: true });
  const digests = await makePayload(source, shape);
  const setting: Setting = { ...options, source, digests };
  const runs: Record<Direction, Run[]> = { up: [], down: [] };
  for (const direction of directions) {
    if (direction === "down" && tools.some(({ tool }) => tool.role !== "ceiling")) await fillStore(setting);
    for (let round = 1; round <= repeat; round += 1) {
      for (const { tool } of tools) {
        signal.throwIfAborted();
        const run = await runOne(setting, { tool, direction, round });
        if (run === null) continue;
        runs[direction].push(run);
        options.onRun(direction, run);
      }
    }
    await stage.server.empty();
  }
  return runs;
}

interface Setting extends CaseRun {
  source: string;
  digests: Digests;
}

/** Runs one tool once; null when it cannot do this transfer. */
async function runOne(
  setting: Setting,
  turn: { tool: Tool; direction: Direction; round: number },
): Promise<Run | null> {
  const { stage } = setting;
  const { tool, direction, round } = turn;
  const target = join(stage.folder, "target");
  if (direction === "up") await stage.server.empty();
  else await rm(target, { recursive: true, force: true });
  const path = direction === "up" ? setting.source : target;
  const netns = stage.link?.clientNetns ?? null;
  const measured = await transfer(setting, { tool, direction, path, netns });
  if (measured === null) return null;
  let failure = measured.why;
  // Plain TCP stores nothing; it counts its bytes itself.
  if (failure === null && tool.role !== "ceiling") {
    failure = direction === "up" ? await readBack(setting) : await findDifference(target, setting.digests);
  }
  await rm(target, { recursive: true, force: true });
  const { costs } = measured;
  return {
    tool: tool.name,
    round,
    failure,
    wallSeconds: costs?.wallSeconds ?? null,
    cpuSeconds: costs === null ? null : costs.userSeconds + costs.systemSeconds,
    peakRssKib: costs?.peakRssKib ?? null,
  };
}

async function transfer(
  setting: Setting,
  about: { tool: Tool; direction: Direction; path: string; netns: string | null },
): Promise<Measured | null> {
  const { stage, benchCase, shape, digests, signal } = setting;
  const { tool, direction, path, netns } = about;
  const scratch = join(stage.folder, "scratch");
  await rm(scratch, { recursive: true, force: true });
  await mkdir(scratch);
  const task: ToolTask = {
    ...stage.server,
    direction,
    path,
    key: KEY,
    names: shape.kind === "folder" ? [...digests.keys()] : null,
    bytes: bytesOf(shape),
    setting: benchCase.setting,
    scratch,
    rawAddress: stage.rawAddress,
  };
  const command: Command | null = await tool.command(task);
  if (command === null) return null;
  const rate = linkRate(benchCase, direction) ?? ASSUMED_LOOPBACK_RATE;
  const limitMs = LEAST_LIMIT_MS + ((bytesOf(shape) * 8) / rate) * 1000 * PATIENCE;
  return measure(command, { netns, scratch, limitMs, signal });
}

/**
 * Uploads the object that downloads fetch, inside the server's namespace, without the link. Tidemark uploads it, so that the
 * checksums that it verifies exist; other tools ignore them.
 */
async function fillStore(setting: Setting): Promise<void> {
  const { stage, tools, source } = setting;
  const own = tools.find(({ tool }) => tool.role === "own")?.tool ?? sdk;
  let why: string | null = null;
  for (const tool of [own, sdk]) {
    await stage.server.empty();
    const netns = stage.link?.serverNetns ?? null;
    const measured = await transfer(setting, { tool, direction: "up", path: source, netns });
    why = measured?.why ?? (await readBack(setting));
    if (why === null) return;
  }
  throw new BenchError(`The store could not be filled for downloads: ${why}.`);
}

/** Downloads the upload with another client, beside the server, and compares it. @returns what is wrong, or null */
async function readBack(setting: Setting): Promise<string | null> {
  const { stage, digests } = setting;
  const path = join(stage.folder, "read-back");
  const netns = stage.link?.serverNetns ?? null;
  const fetched = await transfer(setting, { tool: sdk, direction: "down", path, netns });
  const difference = fetched?.why ?? (await findDifference(path, digests));
  await rm(path, { recursive: true, force: true });
  return difference;
}
