import { readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { runName, type RunName } from "#protocol/base/names.ts";
import { openStage, type Stage } from "../stage/open-stage.ts";
import type { RunningProcess } from "../stage/start-process.ts";
import { readCounters } from "../stage/store-control.ts";
import { waitUntil } from "../stage/wait-until.ts";
import { writeCheckpoint } from "../stage/write-checkpoint.ts";

/** Runs at the far end of the link, in its network namespace, with hub, store and timing. The worker is at the near end. */

const givenOf = z.object({
  client: z.string(),
  address: z.string(),
  gracesSeconds: z.array(z.number()),
  results: z.string(),
});
export type StopsGiven = z.infer<typeof givenOf>;
export const stopsFound = z.object({ runs: z.number(), problems: z.array(z.string()), figures: z.array(z.string()) });

const MIB = 1024 * 1024;
const LONGEST_MS = 5 * 60_000;
/** Tolerance after the grace period, at whose end the process exits by itself; a busy machine notices later. */
const LATE_MS = 1_500;
/** A program that runs until SIGTERM. */
const PROGRAM = [
  process.execPath,
  "-e",
  `process.on("SIGTERM", () => process.exit(0)); setInterval(() => {}, 1000); console.log("trains");`,
];
const leaving = z.object({
  type: z.literal("leaving"),
  unsafeBytes: z.number(),
  unsafeFiles: z.number(),
  safeStep: z.number().nullable(),
});

interface Files {
  files: number;
  bytes: number;
}

function filesIn(folder: string): Files {
  const sizes = readdirSync(folder).map((name) => statSync(join(folder, name)).size);
  return { files: sizes.length, bytes: sizes.reduce((sum, size) => sum + size, 0) };
}

function saidAtTheEnd(worker: RunningProcess) {
  const found = worker.lines.flatMap((line) => {
    const parsed = line.startsWith("{") ? leaving.safeParse(JSON.parse(line)) : null;
    return parsed?.success === true ? [parsed.data] : [];
  });
  return found.at(-1) ?? null;
}

async function stepsIn(stage: Stage, run: RunName, which: readonly string[]): Promise<number[]> {
  const { checkpoints } = await stage.client.runs.get.query({ run });
  return checkpoints.filter(({ state }) => which.includes(state)).map(({ step }) => step);
}

const inOrder = (steps: readonly number[]): string => steps.toSorted((a, b) => a - b).join(", ");

/** Stops a worker once. Returns the problems and a summary. */
async function stopOnce(stage: Stage, given: StopsGiven, graceSeconds: number) {
  const name = `grace-${graceSeconds}`;
  const run = runName.parse(name);
  const problems: string[] = [];
  const near = { name, run, under: ["nsenter", `--net=${given.client}`] };
  const flags = ["--allow-http", "--json", "--grace", `${graceSeconds}s`];
  const worker = await stage.startNode({ ...near, flags, program: PROGRAM });
  await waitUntil("it trains", () => worker.lines.some((line) => line.includes("trains")), { withinMs: LONGEST_MS });
  const written = new Map<number, Files>();
  const write = (step: number, modelBytes: number) => {
    const path = writeCheckpoint({ folder: stage.folderOf(name), step, modelBytes, optimizerBytes: 0, loss: 1 });
    written.set(step, filesIn(path));
  };
  write(100, MIB);
  const has = async (step: number, state: string) => (await stepsIn(stage, run, [state])).includes(step);
  await waitUntil("the first is safe", () => has(100, "complete"), { withinMs: LONGEST_MS });
  write(110, 12 * MIB);
  await waitUntil("the second is being sent", () => has(110, "uploading"), { withinMs: LONGEST_MS });
  write(120, MIB);
  const captured = () => worker.lines.some((line) => line.includes('"captured"') && line.includes('"step":120'));
  await waitUntil("the third waits", captured, { withinMs: LONGEST_MS });
  const askedAt = performance.now();
  const { code } = await worker.stop("SIGTERM");
  const tookMs = performance.now() - askedAt;
  const safe = await stepsIn(stage, run, ["complete"]);
  const passedOver = await stepsIn(stage, run, ["superseded"]);
  const settled = new Set([...safe, ...passedOver]);
  const unsafe = [...written].filter(([step]) => !settled.has(step)).map(([, files]) => files);
  const truth = {
    safeStep: Math.max(...safe),
    unsafeFiles: unsafe.reduce((sum, { files }) => sum + files, 0),
    unsafeBytes: unsafe.reduce((sum, { bytes }) => sum + bytes, 0),
  };
  if (code !== 0) problems.push(`it ended with ${code}, and its program with 0`);
  if (tookMs > graceSeconds * 1000 + LATE_MS) problems.push(`it took ${Math.round(tookMs)} ms to end`);
  const said = saidAtTheEnd(worker);
  const same = (["safeStep", "unsafeFiles", "unsafeBytes"] as const).every((field) => said?.[field] === truth[field]);
  if (!same) problems.push(`it said ${JSON.stringify(said)}; true is ${JSON.stringify(truth)}`);
  const next = await stage.startNode({ ...near, flags: ["--allow-http"] });
  // The newest waiting checkpoint is uploaded first; older ones become superseded.
  await waitUntil("the newest is safe after the next start", () => has(120, "complete"), { withinMs: LONGEST_MS });
  const ended = async () => (await stepsIn(stage, run, ["complete", "superseded"])).length === written.size;
  await waitUntil("nothing waits after the next start", ended, { withinMs: LONGEST_MS });
  const inTheEnd = await stepsIn(stage, run, ["complete"]);
  await next.stop();
  const { targets } = await readCounters(stage.store, "UploadPart");
  const twice = targets.filter(({ key, succeeded }) => key.includes(`/${name}/`) && succeeded > 1);
  if (twice.length > 0) problems.push(`${twice.length} parts that were there were sent again`);
  const figure = `${graceSeconds} s: ended after ${(tookMs / 1000).toFixed(1)} s, safe then: steps ${inOrder(safe)}; after the next start: ${inOrder(inTheEnd)}`;
  return { problems: problems.map((problem) => `${graceSeconds} s: ${problem}`), figure };
}

async function main(given: StopsGiven): Promise<void> {
  const stage = await openStage({
    store: { flags: ["--host", given.address, "--no-fsync"] },
    hub: { env: { TIDEMARK_HOST: given.address, TIDEMARK_ALLOW_ENDPOINTS: given.address } },
  });
  const problems: string[] = [];
  const figures: string[] = [];
  try {
    for (const graceSeconds of given.gracesSeconds) {
      const stopped = await stopOnce(stage, given, graceSeconds);
      problems.push(...stopped.problems);
      figures.push(stopped.figure);
    }
  } finally {
    await stage.close();
  }
  writeFileSync(given.results, JSON.stringify({ runs: given.gracesSeconds.length, problems, figures }));
}

if (import.meta.main) await main(givenOf.parse(JSON.parse(process.argv[2] ?? "{}")));
