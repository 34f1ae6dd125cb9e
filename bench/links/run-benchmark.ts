import { randomUUID } from "node:crypto";
import type { EngineName } from "#protocol/benchmarks/engines.ts";
import type { BenchView, TurnView } from "#protocol/benchmarks/views.ts";
import { EVERYWHERE } from "#protocol/base/scope.ts";
import { armFault, type LoggedRequest, readLog } from "#e2e/stage/store-control.ts";
import type { StoreName } from "./emulated-fleet.ts";
import { STORES } from "./emulated-fleet.ts";
import type { Fleet } from "./open-fleet.ts";
import { watchCpu } from "./watch-cpu.ts";

/** Runs a fleet benchmark as a person starts it, with failures injected while it runs. */

/** At this store two percent of the requests for parts fail: half temporarily, half finally. */
export const FAILING_STORE: StoreName = "us-west";
const FAILING_SHARE = 0.02;
const TEMPORARY = { kind: "error", status: 503, code: "SlowDown" };
const FINAL = { kind: "error", status: 403, code: "AccessDenied" };
/** Prefixes of the rules' ids; the store's log names the rule of each failure. */
const [TEMPORARY_RULE, FINAL_RULE] = ["temporary", "final"];
/** Matches the key of every engine's upload, but not of the object that downloads fetch, which Tidemark itself uploads. */
const ENGINES_KEYS = "*-1";

const TIME_LIMIT_MS = 90_000;
const LONGEST_MS = 90 * 60_000;
const LOOK_MS = 2_000;
const SAY_EVERY_MS = 30_000;
const after = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

export interface BenchmarkPlan {
  engines: readonly EngineName[];
  bytes: number;
  partBytes: number;
  connections: number;
  perBucket: number;
  seed: number;
  kill: "one" | "none";
}

export interface Killed {
  node: string;
  store: string;
  afterSeconds: number;
  casesTold: number;
}

export interface Benchmarked {
  view: BenchView;
  csv: string;
  killed: Killed | null;
  /** Requests to the failing store. */
  log: LoggedRequest[];
  seconds: number;
  movingSeconds: number;
  cpu: { mean: number; p90: number };
}

/**
 * Runs a benchmark to its end.
 * @param onQuiet called once, when no bytes move any more: before the hub gives up the node that was killed
 * @throws Error when it does not end
 */
export async function runBenchmark(
  fleet: Fleet,
  plan: BenchmarkPlan,
  onQuiet: (killed: Killed | null) => Promise<void>,
): Promise<Benchmarked> {
  const { engines, bytes, partBytes, connections, perBucket, seed, kill } = plan;
  await armFailures(fleet);
  const id = randomUUID();
  const startedAt = performance.now();
  const secondsNow = (): number => (performance.now() - startedAt) / 1000;
  const cpu = watchCpu();
  const limits = { timeLimitMs: TIME_LIMIT_MS, memoryBytes: 1_000_000_000 };
  const sizes = { sizeBytes: bytes, partBytes, connections, rounds: 1 };
  await fleet.client.benchmarks.start.mutate({
    id,
    name: "emulated links",
    targets: { scope: EVERYWHERE, sample: null, profileIds: STORES.map((store) => fleet.profileIds[store]) },
    settings: { engines: [...engines], directions: ["up", "down"], ...sizes, ...limits },
    perBucket,
    seed,
  });
  let killed: Killed | null = null;
  let quiet: { movingSeconds: number; cpu: { mean: number; p90: number } } | null = null;
  let saidAt = 0;
  for (;;) {
    const view = await fleet.client.benchmarks.get.query({ id });
    if (kill === "one" && killed === null) {
      const turn = view.turnList.find(isInItsMiddle(view));
      if (turn !== undefined) {
        await fleet.kill(turn.nodeName);
        const { nodeName: node, profileName: store } = turn;
        killed = { node, store, afterSeconds: secondsNow(), casesTold: turn.casesDone };
        console.log(`  ${node} was killed after ${killed.afterSeconds.toFixed(0)} s, in its turn at ${store}`);
      }
    }
    if (quiet === null && view.turnList.every((turn) => isOver(turn) || turn.nodeName === killed?.node)) {
      quiet = { movingSeconds: secondsNow(), cpu: cpu.end() };
      await onQuiet(killed);
    }
    if (view.state !== "running" && view.turnList.every(({ isClean }) => isClean)) {
      const { text } = await fleet.client.benchmarks.export.query({ id, format: "csv" });
      const log = await readLog(fleet.stores[FAILING_STORE]);
      const moving = quiet ?? { movingSeconds: secondsNow(), cpu: cpu.end() };
      return { view, csv: text, killed, log, seconds: secondsNow(), ...moving };
    }
    if (performance.now() - saidAt > SAY_EVERY_MS) {
      saidAt = performance.now();
      say(view, secondsNow());
    }
    if (secondsNow() * 1000 > LONGEST_MS) throw new Error(`The benchmark did not end: ${JSON.stringify(view.turns)}`);
    await after(LOOK_MS);
  }
}

async function armFailures({ stores }: Fleet): Promise<void> {
  const store = stores[FAILING_STORE];
  const share = { probability: FAILING_SHARE / 2 };
  const parts = { op: ["UploadPart", "PutObject"], keyPattern: ENGINES_KEYS };
  const rules = [
    { id: `${TEMPORARY_RULE}-up`, ...parts, action: TEMPORARY, seed: 1 },
    { id: `${FINAL_RULE}-up`, ...parts, action: FINAL, seed: 2 },
    { id: `${TEMPORARY_RULE}-down`, op: "GetObject", action: TEMPORARY, seed: 3 },
    { id: `${FINAL_RULE}-down`, op: "GetObject", action: FINAL, seed: 4 },
  ];
  for (const rule of rules) await armFault(store, { ...rule, ...share });
}

/** Returns how the store failed a logged request; null when it did not. */
export function failedKind({ faults }: LoggedRequest): "temporary" | "final" | null {
  const [first] = faults;
  if (first === undefined) return null;
  return first.startsWith(`${FINAL_RULE}-`) ? "final" : "temporary";
}

const isOver = ({ state }: TurnView): boolean => state !== "waiting" && state !== "running";

/** Returns a test whether a turn is running and has reported some of its cases, but at most half. */
const isInItsMiddle = (view: BenchView) => {
  const all = view.settings.engines.length * view.settings.directions.length;
  return ({ state, casesDone }: TurnView): boolean => state === "running" && casesDone >= 1 && casesDone <= all / 2;
};

function say(view: BenchView, seconds: number): void {
  const { done, failed, running, waiting } = view.turns;
  const turns = `turns: ${done} done, ${failed} failed, ${running} running, ${waiting} waiting`;
  console.log(`  ${seconds.toFixed(0)} s: ${view.casesDone} cases (${view.casesFailed} failed), ${turns}`);
}
