import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { bundleHub, HUB_BUNDLE } from "../gate/bundle-hub.ts";
import { openStage, type Stage } from "../stage/open-stage.ts";
import { fuzzRouter, listsThatFail } from "./strangers/fuzz-router.ts";
import { ROWS, STRANGER_HUB } from "./strangers/rows.ts";
import { HEALTH_MS, watchHub } from "./strangers/watch-hub.ts";

/**
 * `npm run prove -- strangers [--minutes N] [--seed N] [--row N] [--only rows|fuzz]`: what a node, a token or an unknown caller may
 * send is sent to a real hub, one known attack after another, then everything that its router takes, for some minutes. The hub answers
 * `/healthz` in time throughout, keeps below a gigabyte, and every list answers afterwards.
 */

const MOST_BYTES = 1_000_000_000;

interface Wish {
  minutes: number;
  seed: number;
  rows: readonly string[];
  only: string | null;
}

/** Throws Error with one sentence when something is wrong. */
function readWish(argv: readonly string[]): Wish {
  const { values } = parseArgs({
    args: [...argv],
    strict: true,
    options: {
      minutes: { type: "string", default: "5" },
      seed: { type: "string", default: "1" },
      row: { type: "string", multiple: true, default: [] as string[] },
      only: { type: "string" },
    },
  });
  const minutes = Number(values.minutes);
  if (!(minutes > 0)) throw new Error(`--minutes is a number above 0, not "${values.minutes}".`);
  return { minutes, seed: Number(values.seed), rows: values.row, only: values.only ?? null };
}

/** Of the launcher's children the one that serves. */
function hubPidOf({ hub: { pid } }: Stage): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").map(Number);
  const found = children.find((child) => readFileSync(`/proc/${child}/cmdline`, "utf8").includes("hub/main."));
  if (found === undefined) throw new Error("the hub's process was not found");
  return found;
}

async function longestStallOf(stage: Stage): Promise<string> {
  const text = await (await fetch(`${stage.hub.url}/metrics`)).text();
  const stalls = [...text.matchAll(/^tidemark_loop_stalls_total\{procedure="([^"]+)"\} (\d+)$/gm)]
    .filter(([, , count]) => count !== "0")
    .map(([, procedure = "", count = ""]) => `${procedure} ${count}`);
  const longest = /^tidemark_loop_longest_stall_seconds (\S+)$/m.exec(text)?.[1] ?? "?";
  return `longest stall ${longest} s${stalls.length === 0 ? "" : `; above 200 ms: ${stalls.join(", ")}`}`;
}

/** Does something to a hub of its own that is watched, and says what was wrong. */
async function withWatchedHub(title: string, work: (stage: Stage) => Promise<string[]>): Promise<string[]> {
  const stage = await openStage({ hub: { ...STRANGER_HUB, program: HUB_BUNDLE } });
  const watch = watchHub({ url: stage.hub.url, pid: hubPidOf(stage) });
  try {
    const problems = await work(stage);
    const seen = await watch.take();
    const megabytes = Math.round(seen.mostBytes / 1e6);
    console.log(
      `  ${title}: /healthz ${seen.asked} times, slowest ${Math.round(seen.slowestOwnMs)} ms (${Math.round(seen.slowestMs)} with a busy machine), ${megabytes} MB, ${await longestStallOf(stage)}`,
    );
    if (seen.failed > 0) problems.push(`/healthz did not answer ${seen.failed} times`);
    if (seen.mostBytes > MOST_BYTES) problems.push(`the hub came to ${megabytes} MB`);
    for (const { at, tookMs } of seen.late.slice(0, 5))
      problems.push(`/healthz took ${tookMs} ms at ${at}, more than ${HEALTH_MS}`);
    return [...problems, ...(await listsThatFail(stage))];
  } finally {
    await watch.stop();
    await stage.close();
  }
}

/** @returns the exit code */
export async function proveStrangers(argv: readonly string[]): Promise<number> {
  const wish = readWish(argv);
  await bundleHub();
  const failed: string[] = [];
  const judge = (title: string, problems: readonly string[]) => {
    for (const problem of problems) console.log(`  x ${problem}`);
    if (problems.length > 0) failed.push(title);
  };
  const rows = ROWS.filter(({ row }) => wish.only !== "fuzz" && (wish.rows.length === 0 || wish.rows.includes(row)));
  for (const { row, says, run } of rows) {
    console.log(`${row}. ${says}`);
    const title = `row ${row}`;
    judge(title, await withWatchedHub(title, run).catch((error: unknown) => [String(error)]));
  }
  if (wish.only !== "rows" && wish.rows.length === 0) {
    console.log(`All procedures, all callers, ${wish.minutes} minutes, seed ${wish.seed}`);
    const untilMs = performance.now() + wish.minutes * 60_000;
    judge(
      "fuzz",
      await withWatchedHub("fuzz", async (stage) => {
        const found = await fuzzRouter(stage, { seed: wish.seed, untilMs });
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
