import { writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { chromium, type Page } from "@playwright/test";
import { findChromium } from "#e2e/gate/install-chromium.ts";
import { openStage, type Stage } from "#e2e/stage/open-stage.ts";
import { BenchError } from "../bench-error.ts";
import { describeMachine } from "../report/describe-machine.ts";
import { commandOf } from "../report/measured-with.ts";
import { heapOf } from "./heap-of.ts";
import { readTrace } from "./read-trace.ts";
import { savePageResult, type PageCost } from "./result.ts";
import { signIn } from "./sign-in.ts";
import { streamFleet } from "./stream-fleet.ts";
import { writePagesPage } from "./write-page.ts";

/** `npm run bench -- page`: measures what a page costs the browser while a large fleet streams. */

export const PAGE_HELP = `npm run bench -- page [--nodes N] [--minutes M] [--every S] [--path /nodes] [--trace FILE] [--save]

  --nodes N       simulated nodes (3000), that report in the real protocol
  --minutes M     how long each page is looked at (10)
  --every S       seconds between two reports of a node (5)
  --path PATH     a page to look at; may be given several times (/ and /nodes)
  --trace FILE    keep the last trace, for chrome://tracing or Perfetto
  --save          keep the results in bench/results/page/ and write docs/pages.md`;

const after = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

declare global {
  interface Window {
    tidemarkPage?: { over100: number; longestMs: number; rowsMoved: number; shifted: number };
  }
}

/** Counts in the page itself: long tasks, layout shifts, and changes of the row under the pointer at `x`, `y`. */
async function watch(page: Page, { x, y }: { x: number; y: number }): Promise<void> {
  await page.evaluate(
    (at) => {
      const seen = { over100: 0, longestMs: 0, rowsMoved: 0, shifted: 0 };
      window.tidemarkPage = seen;
      new PerformanceObserver((list) => {
        for (const { duration } of list.getEntries()) {
          if (duration > 100) seen.over100++;
          seen.longestMs = Math.max(seen.longestMs, duration);
        }
      }).observe({ type: "longtask" });
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries())
          if ("value" in entry && typeof entry.value === "number") seen.shifted += entry.value;
      }).observe({ type: "layout-shift" });
      const rowAt = (): string | null =>
        document.elementFromPoint(at.x, at.y)?.closest("tr")?.querySelector("a")?.getAttribute("href") ?? null;
      let last = rowAt();
      setInterval(() => {
        const row = rowAt();
        if (row !== last) seen.rowsMoved++;
        last = row;
      }, 200);
    },
    { x, y },
  );
}

/** The list row under the resting pointer, counted from 0. */
const POINTED_ROW = 3;

interface Look {
  path: string;
  minutes: number;
  traceFile: string | null;
}

async function lookAt(page: Page, { path, minutes, traceFile }: Look): Promise<PageCost> {
  await page.goto(path);
  const row = page.locator("main tbody tr").nth(POINTED_ROW);
  await row.waitFor({ timeout: 60_000 }).catch((error: unknown) => {
    throw new BenchError(
      `${path} shows fewer than ${POINTED_ROW + 1} rows: the pointer rests on one of a list. Choose a page with a list, or more nodes.`,
      error,
    );
  });
  // Loading after the first rows is not a cost of streaming.
  await after(5_000);
  const box = await row.boundingBox();
  if (box === null) throw new BenchError(`There are no rows on ${path}.`);
  const at = { x: box.x + 60, y: box.y + box.height / 2 };
  await page.mouse.move(at.x, at.y);
  await after(1_500);
  const start = await heapOf(page);
  await watch(page, at);
  const browser = page.context().browser();
  if (browser === null) throw new BenchError("The browser is gone.");
  await browser.startTracing(page, { categories: ["-*", "devtools.timeline", "v8", "blink"] });
  await after(minutes * 60_000);
  const trace = await browser.stopTracing();
  if (traceFile !== null) await writeFile(traceFile, trace);
  const seen = await page.evaluate(() => window.tidemarkPage);
  const end = await heapOf(page);
  return {
    path,
    frame: readTrace(trace.toString("utf8")),
    heapMb: { start: start.heapMb, end: end.heapMb },
    domNodes: { start: start.domNodes, end: end.domNodes },
    longTasks: { over100: seen?.over100 ?? 0, longestMs: seen?.longestMs ?? 0 },
    rowsMoved: seen?.rowsMoved ?? 0,
    shifted: seen?.shifted ?? 0,
  };
}

function tell(cost: PageCost): void {
  const { frame, heapMb, domNodes, longTasks } = cost;
  console.log(`  ${cost.path}`);
  console.log(
    `    scripting, styles and layout per frame: P50 ${frame.p50.toFixed(1)} ms, P95 ${frame.p95.toFixed(1)} ms, longest ${frame.longest.toFixed(0)} ms (${frame.frames} frames, longest piece ${frame.longestTask.toFixed(0)} ms)`,
  );
  console.log(`    tasks over 100 ms: ${longTasks.over100}, longest ${longTasks.longestMs.toFixed(0)} ms by the clock`);
  console.log(
    `    heap ${heapMb.start.toFixed(1)} -> ${heapMb.end.toFixed(1)} MB, ${domNodes.start} -> ${domNodes.end} DOM nodes`,
  );
  console.log(`    rows moved under the pointer: ${cost.rowsMoved}; layout shift ${cost.shifted.toFixed(3)}`);
}

interface Options {
  nodes: number;
  minutes: number;
  every: number;
  paths: string[];
  trace: string | null;
  save: boolean;
}

/** Parses the command line. @throws BenchError that says what was not understood */
function readPageOptions(args: readonly string[]): Options | "help" {
  const { values } = parseArgs({
    args: [...args],
    options: {
      nodes: { type: "string", default: "3000" },
      minutes: { type: "string", default: "10" },
      every: { type: "string", default: "5" },
      path: { type: "string", multiple: true },
      trace: { type: "string" },
      save: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) return "help";
  const above = (name: "nodes" | "minutes" | "every"): number => {
    const number = Number(values[name]);
    if (Number.isFinite(number) && number > 0) return number;
    throw new BenchError(`--${name} takes a number above 0, not "${values[name]}".`);
  };
  return {
    nodes: Math.ceil(above("nodes")),
    minutes: above("minutes"),
    every: above("every"),
    paths: values.path ?? ["/", "/nodes"],
    trace: values.trace ?? null,
    save: values.save,
  };
}

async function run(stage: Stage, options: Options): Promise<PageCost[]> {
  const executablePath = findChromium();
  if (executablePath === null) throw new BenchError("There is no Chromium: install it first.");
  const { simulators } = await streamFleet(stage, { nodes: options.nodes, everySeconds: options.every });
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
  try {
    const page = await browser.newPage({ baseURL: stage.hub.url, viewport: { width: 1440, height: 900 } });
    // A page that is too busy to answer is a result, not an error.
    page.setDefaultTimeout(120_000);
    await signIn(page);
    const costs: PageCost[] = [];
    for (const path of options.paths) {
      const cost = await lookAt(page, { path, minutes: options.minutes, traceFile: options.trace });
      tell(cost);
      costs.push(cost);
    }
    return costs;
  } finally {
    await browser.close();
    await simulators.stop();
  }
}

export async function benchPage(args: readonly string[]): Promise<void> {
  const options = readPageOptions(args);
  if (options === "help") {
    console.log(PAGE_HELP);
    return;
  }
  console.log(
    `${options.nodes} nodes, a report of each every ${options.every} s, each page for ${options.minutes} min`,
  );
  const machine = await describeMachine({ congestion: "", link: null, server: "store" });
  const stage = await openStage({ hub: { pages: "served" } });
  try {
    const pages = await run(stage, options);
    if (!options.save) return;
    const { nodes, minutes, every: everySeconds } = options;
    await savePageResult("streaming", {
      ...machine,
      command: commandOf("page", args),
      nodes,
      minutes,
      everySeconds,
      pages,
    });
    await writePagesPage();
  } finally {
    await stage.close();
  }
}
