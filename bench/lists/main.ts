import { parseArgs } from "node:util";
import { chromium, type Page } from "@playwright/test";
import { findChromium } from "#e2e/gate/install-chromium.ts";
import { fillHub } from "#e2e/stage/fill-hub.ts";
import { openStage, type Stage } from "#e2e/stage/open-stage.ts";
import { waitUntil } from "#e2e/stage/wait-until.ts";
import { writeCheckpoint } from "#e2e/stage/write-checkpoint.ts";
import { medianOf } from "#protocol/base/robust.ts";
import { BenchError } from "../bench-error.ts";
import { usageOf } from "../fleet/watch-process.ts";
import { watchTasks } from "../browser/in-page.ts";
import { heapOf } from "../page/heap-of.ts";
import { readTrace } from "../page/read-trace.ts";
import { savePageResult, type Lists } from "../page/result.ts";
import { signIn } from "../page/sign-in.ts";
import { writePagesPage } from "../page/write-page.ts";
import { readCount } from "../read-count.ts";
import { describeMachine } from "../report/describe-machine.ts";
import { commandOf } from "../report/measured-with.ts";

/**
 * `npm run bench -- lists`: opens a bucket with a million keys and a run with thousands of checkpoints; measures the time to
 * their rows.
 */

export const LISTS_HELP = `npm run bench -- lists [--keys N] [--steps N] [--rounds N] [--save]

  --keys N     keys in one folder of the bucket (1000000)
  --steps N    complete checkpoints of one run (5000)
  --rounds N   how often each page is opened (5)
  --save       keep the results in bench/results/page/ and write docs/pages.md`;

const RUN = "llama";

interface Times {
  what: string;
  ms: number[];
}

/** Measures the time from the request for a page, with nothing of it in memory, to its first row. */
async function openings(
  page: Page,
  about: { what: string; path: string; row: string; rounds: number },
): Promise<Times> {
  const { what, path, row, rounds } = about;
  const ms: number[] = [];
  for (let round = 0; round < rounds; round++) {
    await page.goto("about:blank");
    const startedAt = performance.now();
    await page.goto(path, { waitUntil: "commit" });
    await page.locator(row).first().waitFor({ timeout: 60_000 });
    ms.push(performance.now() - startedAt);
  }
  return { what, ms };
}

/** Reads all keys of the folder, page by page, as a browser that scrolls to its end does. */
async function readAll(stage: Stage): Promise<{ keys: number; seconds: number; mostMb: number }> {
  const startedAt = performance.now();
  let keys = 0;
  let mostMb = 0;
  let cursor: string | null = null;
  do {
    const page: { objects: unknown[]; nextCursor: string | null } = await stage.client.bucket.list.query({
      profileId: stage.profileId,
      prefix: "bulk/",
      cursor,
    });
    keys += page.objects.length;
    cursor = page.nextCursor;
    if (keys % 50_000 < page.objects.length) mostMb = Math.max(mostMb, await memoryOf(stage));
  } while (cursor !== null);
  return { keys, seconds: (performance.now() - startedAt) / 1000, mostMb };
}

const memoryOf = async ({ hub }: Stage): Promise<number> => (await usageOf(hub.pid)).rssBytes / 1e6;

const SCROLL_MS = 60_000;
const WHEEL = { pixels: 600, everyMs: 50 };

/** Scrolls the open list by the wheel, and measures what that costs the page. */
async function scroll(page: Page): Promise<Lists["scrolled"]> {
  const browser = page.context().browser();
  if (browser === null) throw new BenchError("The browser is gone.");
  const rows = page.locator("tr[id^=row-]");
  const lastRow = async () => Number((await rows.last().getAttribute("aria-rowindex")) ?? 0);
  await rows.nth(3).hover();
  const tasks = await watchTasks(page);
  const start = await heapOf(page);
  await browser.startTracing(page, { categories: ["-*", "devtools.timeline", "v8", "blink"] });
  const startedAt = performance.now();
  while (performance.now() - startedAt < SCROLL_MS) {
    await page.mouse.wheel(0, WHEEL.pixels);
    await page.waitForTimeout(WHEEL.everyMs);
  }
  const seconds = (performance.now() - startedAt) / 1000;
  const frame = readTrace((await browser.stopTracing()).toString("utf8"));
  const end = await heapOf(page);
  const { longest, above100 } = await tasks();
  return {
    rows: await lastRow(),
    seconds,
    frame,
    heapMb: { start: start.heapMb, end: end.heapMb },
    domNodes: { start: start.domNodes, end: end.domNodes },
    over100: above100,
    longestTaskMs: longest,
  };
}

async function fill(stage: Stage, steps: number): Promise<void> {
  await stage.startNode({ name: "gpu-1", run: RUN });
  writeCheckpoint({ folder: stage.folderOf("gpu-1"), step: 1, modelBytes: 4096, optimizerBytes: 0, loss: 1 });
  await waitUntil("a checkpoint is safe", async () =>
    (await stage.client.runs.list.query()).some(({ complete }) => complete === 1),
  );
  await fillHub(stage, {
    seed: "lists",
    nodes: 0,
    steps: Array.from({ length: steps }, (_, index) => 10 + 10 * index),
  });
}

export async function benchLists(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      keys: { type: "string", default: "1000000" },
      steps: { type: "string", default: "5000" },
      rounds: { type: "string", default: "5" },
      save: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) {
    console.log(LISTS_HELP);
    return;
  }
  const [keys, steps, rounds] = [
    readCount("--keys", values.keys),
    readCount("--steps", values.steps),
    readCount("--rounds", values.rounds),
  ];
  const executablePath = findChromium();
  if (executablePath === null) throw new BenchError("There is no Chromium: install it first.");
  const machine = await describeMachine({ congestion: "", link: null, server: "store" });
  const stage = await openStage({ hub: { pages: "served" }, store: { flags: ["--fill", `bulk/:${keys}`] } });
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
  try {
    await fill(stage, steps);
    const page = await browser.newPage({ baseURL: stage.hub.url, viewport: { width: 1440, height: 900 } });
    await signIn(page);
    const bucket = `/buckets/${stage.profileId}?in=bulk/`;
    const pages = [
      await openings(page, { what: `bucket, ${keys} keys`, path: bucket, row: "tr[id^=row-]", rounds }),
      await openings(page, { what: `run, ${steps} checkpoints`, path: `/runs/${RUN}`, row: "main tbody tr", rounds }),
    ];
    for (const { what, ms } of pages) {
      console.log(
        `  ${what}: first rows after ${medianOf(ms).toFixed(0)} ms (longest of ${rounds}: ${Math.max(...ms).toFixed(0)})`,
      );
    }
    await page.goto(bucket);
    await page.locator("tr[id^=row-]").first().waitFor({ timeout: 60_000 });
    const scrolled = await scroll(page);
    console.log(
      `  scrolled ${scrolled.rows} rows in ${scrolled.seconds.toFixed(0)} s: work per frame P50 ${scrolled.frame.p50.toFixed(1)} ms, P95 ${scrolled.frame.p95.toFixed(1)} ms, ${scrolled.over100} tasks over 100 ms; heap ${scrolled.heapMb.start.toFixed(1)} -> ${scrolled.heapMb.end.toFixed(1)} MB, ${scrolled.domNodes.start} -> ${scrolled.domNodes.end} DOM nodes`,
    );
    const beforeMb = await memoryOf(stage);
    const first = await readAll(stage);
    const betweenMb = await memoryOf(stage);
    const second = await readAll(stage);
    const afterMb = await memoryOf(stage);
    console.log(
      `  all ${first.keys} keys through the hub in ${first.seconds.toFixed(0)} s, again in ${second.seconds.toFixed(0)} s`,
    );
    console.log(
      `  memory of the hub: ${beforeMb.toFixed(0)} MB before, ${betweenMb.toFixed(0)} between, ${afterMb.toFixed(0)} after, ${Math.max(first.mostMb, second.mostMb).toFixed(0)} at most`,
    );
    if (!values.save) return;
    await savePageResult("lists", {
      ...machine,
      command: commandOf("lists", args),
      keys,
      opened: pages,
      scrolled,
      hubMb: { before: beforeMb, between: betweenMb, after: afterMb, most: Math.max(first.mostMb, second.mostMb) },
      readSeconds: [first.seconds, second.seconds],
    });
    await writePagesPage();
  } finally {
    await browser.close();
    await stage.close();
  }
}
