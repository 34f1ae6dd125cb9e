import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { bundleHub, HUB_BUNDLE } from "../gate/bundle-hub.ts";
import { openStage, type Stage } from "../stage/open-stage.ts";
import { fuzzRouter, listsThatFail } from "./strangers/fuzz-router.ts";
import { measureHolds, MOST_HELD_MS, probeEnv, problemsOf, tableOf } from "./strangers/holds/measure-holds.ts";
import { ROWS, STRANGER_HUB } from "./strangers/rows.ts";
import { HEALTH_MS, watchHub } from "./strangers/watch-hub.ts";

/**
 * `npm run prove -- strangers [--minutes N] [--seed N] [--replay SEED]... [--row N] [--only rows|holds|fuzz]`: attacks a real
 * hub with input that nodes, tokens or unknown callers can send. It runs known attacks, then every query against a hub of ten
 * thousand nodes, then a fuzzer over the whole router. The hub must answer `/healthz` in time and never block its event loop
 * for long. It must stay below a gigabyte, and answer every list afterwards.
 */

const MOST_BYTES = 1_000_000_000;

interface StrangersOptions {
  minutes: number;
  seed: number;
  /** Seeds of single fuzzer calls to repeat. */
  replay: readonly number[];
  rows: readonly string[];
  only: Part | null;
}

const PARTS = ["rows", "holds", "fuzz"] as const;
type Part = (typeof PARTS)[number];

/** Parses the options. @throws Error with one sentence when something is wrong */
function readOptions(argv: readonly string[]): StrangersOptions {
  const { values } = parseArgs({
    args: [...argv],
    strict: true,
    options: {
      minutes: { type: "string", default: "5" },
      seed: { type: "string", default: "1" },
      replay: { type: "string", multiple: true, default: [] as string[] },
      row: { type: "string", multiple: true, default: [] as string[] },
      only: { type: "string" },
    },
  });
  const minutes = Number(values.minutes);
  if (!(minutes > 0)) throw new Error(`--minutes is a number above 0, not "${values.minutes}".`);
  const only = PARTS.find((part) => part === values.only) ?? null;
  if (values.only !== undefined && only === null) throw new Error(`--only is one of ${PARTS.join(", ")}.`);
  return { minutes, seed: Number(values.seed), replay: values.replay.map(Number), rows: values.row, only };
}

/** Returns the pid of the launcher's child that serves HTTP. */
function hubPidOf({ hub: { pid } }: Stage): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").map(Number);
  const found = children.find((child) => readFileSync(`/proc/${child}/cmdline`, "utf8").includes("http/main."));
  if (found === undefined) throw new Error("the hub's process was not found");
  return found;
}

/** Returns the event-loop stalls that the hub's own metrics report. */
async function stallsOf(stage: Stage): Promise<{ line: string; busyMs: number }> {
  const text = await (await fetch(`${stage.hub.url}/metrics`)).text();
  const stalls = [...text.matchAll(/^tidemark_loop_stalls_total\{procedure="([^"]+)"\} (\d+)$/gm)]
    .filter(([, , count]) => count !== "0")
    .map(([, procedure = "", count = ""]) => `${procedure} ${count}`);
  const secondsOf = (name: string) => Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1] ?? Number.NaN);
  const stood = secondsOf("tidemark_loop_longest_stall_seconds");
  const busyMs = 1000 * secondsOf("tidemark_loop_longest_busy_seconds");
  const above = stalls.length === 0 ? "" : `; above ${HEALTH_MS} ms: ${stalls.join(", ")}`;
  return {
    line: `its loop stood still for ${stood} s at most, by its own work ${Math.round(busyMs)} ms${above}`,
    busyMs,
  };
}

/** Runs an attack against a watched hub of its own and returns the problems. */
async function withWatchedHub(title: string, work: (stage: Stage) => Promise<string[]>): Promise<string[]> {
  const stage = await openStage({ hub: { ...STRANGER_HUB, program: HUB_BUNDLE } });
  const watch = watchHub({ url: stage.hub.url, pid: hubPidOf(stage) });
  try {
    const problems = await work(stage);
    const seen = await watch.take();
    const megabytes = Math.round(seen.mostBytes / 1e6);
    const { line, busyMs } = await stallsOf(stage);
    if (!(busyMs <= HEALTH_MS)) problems.push(`the hub's own work held its loop for ${Math.round(busyMs)} ms`);
    console.log(
      `  ${title}: /healthz ${seen.asked} times (${seen.unjudged} while the machine itself was late), slowest ${Math.round(seen.slowestOwnMs)} ms of its own (${Math.round(seen.slowestMs)} with the wait for a processor), ${megabytes} MB, ${line}`,
    );
    if (seen.failed > 0) problems.push(`/healthz did not answer ${seen.failed} times`);
    if (seen.mostBytes > MOST_BYTES) problems.push(`the hub came to ${megabytes} MB`);
    for (const { at, tookMs, ranMs, queuedMs } of seen.late) {
      const [took, ran, queued] = [tookMs, ranMs, queuedMs].map(Math.round);
      const late = `/healthz took ${took} ms at ${at}: the hub's thread ran for ${ran} ms and got no processor for ${queued} ms`;
      // Time in which the hub waited for a CPU is the machine's fault, not the hub's.
      if (tookMs - queuedMs > HEALTH_MS || ranMs > HEALTH_MS) problems.push(late);
      else console.log(`    ${late}`);
    }
    problems.push(...(await listsThatFail(stage)));
    // Only the hub's log has the cause of an internal error.
    const failed = stage.hub.lines.filter((text) => text.includes('"a call failed"'));
    for (const text of failed.slice(-5)) console.log(`    the hub said: ${text.slice(0, 1_000)}`);
    return problems;
  } finally {
    await watch.stop();
    await stage.close();
  }
}

async function proveHolds(): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), "tidemark-holds-"));
  const probeFile = join(folder, "held.json");
  const stage = await openStage({ hub: { env: probeEnv(probeFile), program: HUB_BUNDLE } });
  try {
    const measured = await measureHolds(stage, { probeFile, hubPid: () => hubPidOf(stage) });
    for (const line of tableOf(measured)) console.log(`  ${line}`);
    return problemsOf(measured);
  } finally {
    await stage.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Runs the attacks and returns the exit code. */
export async function proveStrangers(argv: readonly string[]): Promise<number> {
  const request = readOptions(argv);
  await bundleHub();
  const failed: string[] = [];
  const judge = (title: string, problems: readonly string[]) => {
    for (const problem of problems) console.log(`  x ${problem}`);
    if (problems.length > 0) failed.push(title);
  };
  const isWanted = (part: Part) => request.only === null || request.only === part;
  const rows = ROWS.filter(({ row }) => isWanted("rows") && (request.rows.length === 0 || request.rows.includes(row)));
  for (const { row, says, run } of rows) {
    console.log(`${row}. ${says}`);
    const title = `row ${row}`;
    judge(title, await withWatchedHub(title, run).catch((error: unknown) => [String(error)]));
  }
  if (isWanted("holds") && request.rows.length === 0) {
    console.log(`Every question to a hub of 10,000 nodes: none holds its event loop for more than ${MOST_HELD_MS} ms`);
    judge("holds", await proveHolds());
  }
  if (isWanted("fuzz") && request.rows.length === 0) {
    console.log(`All procedures, all callers, ${request.minutes} minutes, seed ${request.seed}`);
    const untilMs = performance.now() + request.minutes * 60_000;
    judge(
      "fuzz",
      await withWatchedHub("fuzz", async (stage) => {
        const found = await fuzzRouter(stage, { seed: request.seed, untilMs, replay: request.replay });
        console.log(
          `  ${found.calls} calls, ${found.reached} of ${found.procedures} procedures took an input; slowest ${found.slowest.path} ${found.slowest.tookMs} ms, largest answer ${found.largest.path} ${found.largest.bytes} bytes`,
        );
        return found.problems;
      }),
    );
  }
  console.log(failed.length === 0 ? "All held." : `Not held: ${failed.join(", ")}.`);
  return failed.length === 0 ? 0 : 1;
}
