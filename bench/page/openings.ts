import { parseArgs } from "node:util";
import { chromium, type Browser, type BrowserContext, type Page } from "@playwright/test";
import { screensOf } from "#e2e/browser/screens.ts";
import { findChromium } from "#e2e/gate/install-chromium.ts";
import { openStage } from "#e2e/stage/open-stage.ts";
import { medianOf } from "#protocol/base/robust.ts";
import { BenchError } from "../bench-error.ts";
import { readCount } from "../read-count.ts";
import { describeMachine } from "../report/describe-machine.ts";
import { commandOf } from "../report/measured-with.ts";
import { savePageResult, type Opening, type Openings } from "./result.ts";
import { signIn } from "./sign-in.ts";
import { streamFleet } from "./stream-fleet.ts";
import { writePagesPage } from "./write-page.ts";

/** `npm run bench -- openings`: measures how soon each page is there, and how soon it responds to actions. */

export const OPENINGS_HELP = `npm run bench -- openings [--nodes N] [--rounds N] [--save]

  --nodes N    simulated nodes that report meanwhile (200)
  --rounds N   how often each page is opened, and each thing done (5)
  --save       keep the results in bench/results/page/ and write docs/pages.md`;

declare global {
  interface Window {
    tidemarkOpening?: { largestPaintMs: number; shifted: number; longestTaskMs: number; longestEventMs: number };
  }
}

/** A page is there when no larger paint follows for this long. */
const SETTLED_MS = 1_000;
const SIGN_IN = "/sign-in";
const VIEWPORT = { width: 1440, height: 900 };

/** Installs observers that run before the scripts of each page. */
async function watchFromTheStart(context: BrowserContext): Promise<void> {
  await context.addInitScript(() => {
    const seen = { largestPaintMs: 0, shifted: 0, longestTaskMs: 0, longestEventMs: 0 };
    window.tidemarkOpening = seen;
    const watch = (type: string, more: object, each: (entry: PerformanceEntry) => void) =>
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) each(entry);
      }).observe({ type, ...more });
    watch("largest-contentful-paint", { buffered: true }, ({ startTime }) => (seen.largestPaintMs = startTime));
    watch("layout-shift", { buffered: true }, (entry) => {
      if ("value" in entry && typeof entry.value === "number") seen.shifted += entry.value;
    });
    watch("longtask", {}, ({ duration }) => (seen.longestTaskMs = Math.max(seen.longestTaskMs, duration)));
    watch("event", { durationThreshold: 16 }, ({ duration }) => {
      seen.longestEventMs = Math.max(seen.longestEventMs, duration);
    });
  });
}

const seenOf = (page: Page) =>
  page.evaluate(() => {
    const scripts = performance.getEntriesByType("resource").filter(({ name }) => /\.js(\?|$)/.test(name));
    const scriptBytes = scripts.reduce(
      (sum, entry) => sum + (entry instanceof PerformanceResourceTiming ? entry.encodedBodySize : 0),
      0,
    );
    return window.tidemarkOpening === undefined ? null : { ...window.tidemarkOpening, scriptBytes };
  });

async function waitUntilThere(page: Page, path: string): Promise<void> {
  await page.getByRole("heading", { level: 1 }).waitFor();
  const live = page.getByText(/^live/).first();
  if (path !== SIGN_IN) await live.waitFor({ state: "attached" });
  for (let last = -1; ;) {
    const largest = (await seenOf(page))?.largestPaintMs ?? 0;
    if (largest === last && largest > 0) return;
    last = largest;
    await page.waitForTimeout(SETTLED_MS);
  }
}

type State = Awaited<ReturnType<BrowserContext["storageState"]>>;
interface Turn {
  browser: Browser;
  baseURL: string;
  state: State;
  rounds: number;
}

/** Opens a page in a new browser context, which has nothing but the session. */
async function openCold({ browser, baseURL, state }: Turn, path: string): Promise<Page> {
  const context = await browser.newContext({ baseURL, viewport: VIEWPORT, storageState: state });
  await watchFromTheStart(context);
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  await page.goto(path);
  await waitUntilThere(page, path);
  return page;
}

async function measureOpening(turn: Turn, path: string): Promise<Opening> {
  const found: Opening = { path, largestPaintMs: [], shifted: [], scriptBytes: 0, longestTaskMs: 0 };
  for (let round = 0; round < turn.rounds; round++) {
    const page = await openCold(turn, path);
    const seen = await seenOf(page);
    if (seen === null) throw new BenchError(`${path} was not watched.`);
    found.largestPaintMs.push(seen.largestPaintMs);
    found.shifted.push(seen.shifted);
    found.scriptBytes = Math.max(found.scriptBytes, seen.scriptBytes);
    found.longestTaskMs = Math.max(found.longestTaskMs, seen.longestTaskMs);
    await page.context().close();
  }
  return found;
}

interface Action {
  what: string;
  path: string;
  /** Performs the action; resolves when its result shows. */
  act(page: Page): Promise<unknown>;
}

const palette = (page: Page) => page.getByRole("combobox", { name: "Find a node, run, key or action" });
const nodeRows = (page: Page) => page.getByRole("table", { name: "Nodes" }).locator("tbody tr");
const openPalette = async (page: Page) => {
  await page.keyboard.press("Control+k");
  await palette(page).waitFor();
};

const ACTIONS: readonly Action[] = [
  { what: "open the palette", path: "/", act: openPalette },
  {
    what: "type in the palette",
    path: "/",
    act: async (page) => {
      await openPalette(page);
      await palette(page).pressSequentially("pause sim-00042", { delay: 60 });
      await page.getByRole("option").first().waitFor();
    },
  },
  {
    what: "go to another page by its letter",
    path: "/",
    act: async (page) => {
      await page.keyboard.press("g");
      await page.keyboard.press("n");
      await nodeRows(page).first().waitFor();
    },
  },
  {
    what: "type in the filter of nodes",
    path: "/nodes",
    act: async (page) => {
      await page.getByRole("searchbox", { name: "Filter nodes" }).pressSequentially("sim-00042", { delay: 60 });
      await nodeRows(page).first().waitFor();
    },
  },
  {
    what: "order nodes by a column",
    path: "/nodes",
    act: async (page) => {
      const header = page.getByRole("table", { name: "Nodes" }).getByRole("columnheader").getByRole("button");
      for (const at of [1, 2, 1]) await header.nth(at).click();
    },
  },
  { what: "go to the end of the nodes", path: "/nodes", act: (page) => page.keyboard.press("End") },
  {
    what: "open a node",
    path: "/nodes",
    act: async (page) => {
      await nodeRows(page).nth(3).getByRole("link").first().click();
      await page.waitForURL(/\/nodes\/.+/);
    },
  },
  {
    what: "open the dialog for an upload",
    path: "/transfers",
    act: async (page) => {
      await page.getByRole("region", { name: "This browser" }).getByRole("button", { name: "Upload…" }).click();
      await page.getByRole("dialog").waitFor();
    },
  },
];

async function measureAction(turn: Turn, { path, act, what }: Action): Promise<Openings["actions"][number]> {
  const ms: number[] = [];
  for (let round = 0; round < turn.rounds; round++) {
    const page = await openCold(turn, path);
    await act(page);
    // The browser reports an event in the frame after the one that shows its result.
    await page.waitForTimeout(300);
    ms.push((await seenOf(page))?.longestEventMs ?? 0);
    await page.context().close();
  }
  return { what, ms };
}

export async function benchOpenings(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      nodes: { type: "string", default: "200" },
      rounds: { type: "string", default: "5" },
      save: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) {
    console.log(OPENINGS_HELP);
    return;
  }
  const [nodes, rounds] = [readCount("--nodes", values.nodes), readCount("--rounds", values.rounds)];
  const executablePath = findChromium();
  if (executablePath === null) throw new BenchError("There is no Chromium: install it first.");
  const machine = await describeMachine({ congestion: "", link: null, server: "store" });
  await using undo = new AsyncDisposableStack();
  const stage = await openStage({ hub: { pages: "served" } });
  undo.defer(() => stage.close());
  const { checkpoint, simulators } = await streamFleet(stage, { nodes, everySeconds: 5 });
  undo.defer(() => simulators.stop());
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
  undo.defer(() => browser.close());
  const baseURL = stage.hub.url;
  const first = await browser.newContext({ baseURL });
  await signIn(await first.newPage());
  const turn: Turn = { browser, baseURL, state: await first.storageState(), rounds };
  await first.close();
  const pages: Opening[] = [];
  for (const path of [SIGN_IN, ...screensOf(checkpoint), `/buckets/${stage.profileId}`]) {
    const found = await measureOpening(
      path === SIGN_IN ? { ...turn, state: { cookies: [], origins: [] } } : turn,
      path,
    );
    pages.push(found);
    console.log(
      `  ${path.padEnd(44)} largest paint ${medianOf(found.largestPaintMs).toFixed(0).padStart(5)} ms (${Math.max(...found.largestPaintMs).toFixed(0)})  shift ${Math.max(...found.shifted).toFixed(3)}  ${(found.scriptBytes / 1024).toFixed(0)} KiB of scripts  longest task ${found.longestTaskMs.toFixed(0)} ms`,
    );
  }
  const actions: Openings["actions"] = [];
  for (const action of ACTIONS) {
    const found = await measureAction(turn, action);
    actions.push(found);
    console.log(
      `  ${found.what.padEnd(44)} ${medianOf(found.ms).toFixed(0).padStart(5)} ms (${Math.max(...found.ms).toFixed(0)})`,
    );
  }
  if (!values.save) return;
  await savePageResult("openings", { ...machine, command: commandOf("openings", args), nodes, pages, actions });
  await writePagesPage();
}
