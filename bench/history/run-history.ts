import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createHubClient, signIn } from "#e2e/stage/hub-client.ts";
import { startHub } from "#e2e/stage/start-hub.ts";
import { BenchError } from "../bench-error.ts";
import { fillHistory } from "./fill-history.ts";

/**
 * `npm run bench -- history [--nodes 200,10000] [--days 30] [--repeat 5]`: measures the disk space of history, and how long its
 * queries take over HTTP while another client requests /healthz all the time.
 */

const ADMIN = { email: "bench@example.com", password: "a password for the bench" };
const DAY = 86_400_000;
const PING_EVERY_MS = 5;
/** The hub loads every node before it is ready. */
const READY_MS = 180_000;

const HELP = "npm run bench -- history [--nodes 200,10000] [--days 30] [--repeat 5]\n";

/** Parses the command line. @throws BenchError that says what was not understood */
function readOptions(args: readonly string[]) {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        nodes: { type: "string", default: "200,10000" },
        days: { type: "string", default: "30" },
        repeat: { type: "string", default: "5" },
        help: { type: "boolean", short: "h", default: false },
      },
    });
    const count = (text: string): number => {
      const value = Number(text);
      if (!Number.isInteger(value) || value < 1) throw new BenchError(`"${text}" is no whole number from 1.`);
      return value;
    };
    return {
      nodes: values.nodes.split(",").map(count),
      days: count(values.days),
      repeat: count(values.repeat),
      help: values.help,
    };
  } catch (error) {
    throw error instanceof BenchError ? error : new BenchError(`${String(error)}\n${HELP}`, error);
  }
}

export async function runHistory(args: readonly string[]): Promise<void> {
  const options = readOptions(args);
  if (options.help) {
    console.log(HELP);
    return;
  }
  for (const nodes of options.nodes) await benchFleet({ ...options, nodes });
}

async function benchFleet(options: { nodes: number; days: number; repeat: number }): Promise<void> {
  const { nodes, days, repeat } = options;
  console.log(`\n${nodes} nodes, ${days} days`);
  const dataDir = await mkdtemp(join(tmpdir(), "tidemark-bench-history-"));
  try {
    // The hub creates its own tables.
    await (await startHub({ dataDir, admin: ADMIN })).stop();
    const now = Date.now();
    const growth = fillHistory(join(dataDir, "hub.db"), { nodes, days, now }, console.log);
    for (const { what, perDay, of } of growth) {
      console.log(
        `  ${what.padEnd(22)} ${perDay.toFixed(0)} bytes a day, of ${of === "node" ? "each node" : "the fleet"}`,
      );
    }
    const daily = growth.reduce((sum, { perDay, of }) => sum + perDay * (of === "node" ? nodes : 1), 0);
    const perMinute = (daily / nodes / 1440).toFixed(1);
    console.log(`  together ${(daily / 1e6).toFixed(1)} MB a day, ${perMinute} bytes a node-minute`);
    await ask({ dataDir, days, repeat, now });
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
}

async function ask(about: { dataDir: string; days: number; repeat: number; now: number }): Promise<void> {
  const { dataDir, days, repeat, now } = about;
  const hub = await startHub({ dataDir, admin: ADMIN, readyWithinMs: READY_MS });
  try {
    const { history } = createHubClient(hub.url, await signIn(hub.url, ADMIN));
    const range = { from: now - days * DAY, to: now };
    const all = { sources: null, nodeIds: null, profileId: null, provider: null, region: null, engine: null };
    const measures: ("up" | "down" | "rtt")[] = ["up", "down", "rtt"];
    const scope = { ...range, ...all, measures };
    const page = { nodeId: null, profileId: null, region: null, engine: null, kinds: [], outcome: null, cursor: null };
    const questions: [string, () => Promise<unknown>][] = [
      ["percentiles by region", () => history.percentiles.query({ ...scope, by: "region", limit: 1000 })],
      ["percentiles by profile", () => history.percentiles.query({ ...scope, by: "profile", limit: 1000 })],
      ["percentiles by direction", () => history.percentiles.query({ ...scope, by: "direction", limit: 1000 })],
      [
        "percentiles by node, up",
        () => history.percentiles.query({ ...scope, measures: ["up"], by: "node", limit: 30_000 }),
      ],
      ["percentiles by node, all", () => history.percentiles.query({ ...scope, by: "node", limit: 30_000 })],
      [
        "percentiles of one node",
        () => history.percentiles.query({ ...scope, by: "node", nodeIds: ["node-00000007"], limit: 10 }),
      ],
      ["chart of hours", () => history.series.query({ ...scope, by: "region", step: "hour" })],
      ["chart of days", () => history.series.query({ ...scope, by: "all", step: "day" })],
      ["a page of transfers", () => history.list.query({ ...range, ...page, limit: 100 })],
      ["failed transfers", () => history.list.query({ ...range, ...page, outcome: "failed", limit: 100 })],
    ];
    console.log("  question (ms)               first   median     most      CPU   longest wait of others");
    for (const [name, question] of questions) {
      const { first, median, most, cpuMs, waitMs } = await time(hub.url, question, repeat);
      const cells = [first, median, most, cpuMs, waitMs].map((ms) => ms.toFixed(0).padStart(8)).join(" ");
      console.log(`  ${name.padEnd(25)} ${cells}`);
    }
  } finally {
    await hub.stop();
  }
}

/** Returns the CPU time of the hub's process so far, all threads. */
async function cpuSeconds(url: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(/^process_cpu_seconds_total (\S+)$/m.exec(text)?.[1]);
}

/** Measures a query. `cpuMs` is the CPU time of one query, for machines on which wall times say little. */
async function time(url: string, question: () => Promise<unknown>, repeat: number) {
  const took: number[] = [];
  const cpuBefore = await cpuSeconds(url);
  const state = { isOver: false, waitMs: 0 };
  const pings = (async () => {
    while (!state.isOver) {
      const startedAt = performance.now();
      await (await fetch(`${url}/healthz`)).text();
      state.waitMs = Math.max(state.waitMs, performance.now() - startedAt);
      await new Promise((resolve) => setTimeout(resolve, PING_EVERY_MS));
    }
  })();
  for (let round = 0; round < repeat; round++) {
    const startedAt = performance.now();
    await question();
    took.push(performance.now() - startedAt);
  }
  state.isOver = true;
  await pings;
  const cpuMs = ((await cpuSeconds(url)) - cpuBefore) * (1000 / repeat);
  const sorted = took.toSorted((a, b) => a - b);
  return {
    first: took[0] ?? 0,
    median: sorted[Math.floor((sorted.length - 1) / 2)] ?? 0,
    most: sorted.at(-1) ?? 0,
    cpuMs,
    waitMs: state.waitMs,
  };
}
