import * as z from "zod";
import { isEngine, type BenchDirection } from "#protocol/benchmarks/engines.ts";
import { benchSettings } from "#protocol/benchmarks/plan-input.ts";
import { spread, summarize, type CaseResult } from "#protocol/benchmarks/summarize.ts";
import { benchBeginInput } from "#protocol/benchmarks/turn.ts";
import {
  TURN_STATES,
  type BenchRow,
  type BenchState,
  type BenchView,
  type CaseView,
  type RegionPair,
  type TurnState,
  type TurnView,
} from "#protocol/benchmarks/views.ts";
import { Fault } from "#protocol/faults/fault.ts";
import type { Benchmark, BenchCase, BenchTurn } from "#prisma/client/client.ts";
import { storedFault } from "#server/core/events/event-row.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { createPauses, mapInSlices } from "#server/platform/pauses.ts";

/** Reads benchmarks for the pages; all numbers are computed from the single cases. */

const LISTED = 100;
const WAYS: readonly BenchDirection[] = ["up", "down"];
const stateOf = (state: string): BenchState => (state === "done" || state === "cancelled" ? state : "running");
const turnStateOf = (state: string): TurnState => TURN_STATES.find((known) => known === state) ?? "failed";
const mean = (values: readonly number[]): number | null => spread(values)?.mean ?? null;

export async function listBenchmarks(hub: Hub): Promise<BenchRow[]> {
  const rows = await hub.db.benchmark.findMany({ orderBy: [{ startedAt: "desc" }, { id: "desc" }], take: LISTED });
  return Promise.all(rows.map((row) => rowOf(hub, row)));
}

async function rowOf(hub: Hub, row: Benchmark): Promise<BenchRow> {
  const turns = await hub.db.benchTurn.findMany({
    where: { benchmarkId: row.id },
    select: { state: true, nodeId: true, profileId: true },
  });
  const count = (state: TurnState) => turns.filter((turn) => turn.state === state).length;
  const of = { turn: { benchmarkId: row.id } };
  return {
    id: row.id,
    name: row.name,
    state: stateOf(row.state),
    actor: row.actor,
    startedAt: row.startedAt.getTime(),
    endedAt: row.endedAt?.getTime() ?? null,
    nodes: new Set(turns.map(({ nodeId }) => nodeId)).size,
    buckets: new Set(turns.map(({ profileId }) => profileId)).size,
    turns: {
      waiting: count("waiting"),
      running: count("running"),
      done: count("done"),
      failed: count("failed"),
      cancelled: count("cancelled"),
    },
    casesDone: await hub.db.benchCase.count({ where: of }),
    casesFailed: await hub.db.benchCase.count({ where: { ...of, bytesPerSecond: null } }),
  };
}

type Case = Pick<BenchCase, "turnId" | "engine" | "direction" | "bytesPerSecond">;

/** Returns a benchmark with its summary and turns. @throws Fault NOT_FOUND */
export async function getBenchmark(hub: Hub, { id }: { id: string }): Promise<BenchView> {
  const row = await hub.db.benchmark.findUnique({ where: { id } });
  if (row === null) throw new Fault("NOT_FOUND", { subject: "this benchmark" });
  const { turns, cases } = await readTurns(hub, id);
  const byTurn = Map.groupBy(cases, ({ turnId }) => turnId);
  const nodeOf = new Map(turns.map((turn) => [turn.id, turn.nodeId]));
  const results = (await mapInSlices(cases, (one) => resultOf(one, nodeOf.get(one.turnId) ?? ""))).flat();
  const pauses = createPauses();
  const nodeMaxima = maximaOf(turns, results);
  await pauses.take();
  const summary = summarize(results);
  await pauses.take();
  const regions = pairsOf(turns, byTurn);
  await pauses.take();
  const ratios = nodeMaxima.flatMap(({ up, down }) => (up === null || down === null ? [] : [down / up]));
  return {
    ...(await rowOf(hub, row)),
    settings: benchSettings.parse(JSON.parse(row.settings)),
    perBucket: row.perBucket,
    seed: Number(row.seed),
    summary,
    overall: { up: overallOf(results, "up"), down: overallOf(results, "down") },
    nodeMaxima,
    asymmetry: spread(ratios),
    regions,
    turnList: await mapInSlices(turns, (turn) => turnView(turn, byTurn.get(turn.id)?.length ?? 0)),
  };
}

/** Turns per query, and turns whose cases are read together. */
const TURNS_AT_ONCE = 200;

async function readTurns(hub: Pick<Hub, "db">, benchmarkId: string): Promise<{ turns: BenchTurn[]; cases: Case[] }> {
  const turns: BenchTurn[] = [];
  const cases: Case[] = [];
  for (let after = -1; ;) {
    const where = { benchmarkId, position: { gt: after } };
    const page = await hub.db.benchTurn.findMany({ where, orderBy: { position: "asc" }, take: TURNS_AT_ONCE });
    turns.push(...page);
    cases.push(
      ...(await hub.db.benchCase.findMany({
        where: { turnId: { in: page.map(({ id }) => id) } },
        select: { turnId: true, engine: true, direction: true, bytesPerSecond: true },
      })),
    );
    const last = page.at(-1);
    if (last === undefined || page.length < TURNS_AT_ONCE) return { turns, cases };
    after = last.position;
  }
}

function resultOf({ engine, direction, bytesPerSecond }: Case, subject: string): CaseResult[] {
  if (!isEngine(engine) || (direction !== "up" && direction !== "down")) return [];
  return [{ subject, engine, direction, bytesPerSecond }];
}

const ratesOf = (cases: readonly Pick<Case, "direction" | "bytesPerSecond">[], way: BenchDirection): number[] =>
  cases.flatMap(({ direction, bytesPerSecond }) =>
    direction === way && bytesPerSecond !== null ? [bytesPerSecond] : [],
  );

function overallOf(results: readonly CaseResult[], way: BenchDirection) {
  const own = results.filter(({ direction }) => direction === way);
  const rates = ratesOf(own, way);
  return { cases: own.length, failed: own.length - rates.length, mean: mean(rates) };
}

function maximaOf(turns: readonly BenchTurn[], results: readonly CaseResult[]): BenchView["nodeMaxima"] {
  const nodes = new Map(turns.map((turn) => [turn.nodeId, turn]));
  const byNode = Map.groupBy(results, ({ subject }) => subject);
  return [...nodes.values()].map(({ nodeId, nodeName, nodeRegion }) => {
    const most = (way: BenchDirection) =>
      ratesOf(byNode.get(nodeId) ?? [], way).reduce<number | null>((best, rate) => Math.max(best ?? 0, rate), null);
    return { nodeId, nodeName, nodeRegion: nodeRegion ?? "", up: most("up"), down: most("down") };
  });
}

function pairsOf(turns: readonly BenchTurn[], byTurn: ReadonlyMap<string, readonly Case[]>): RegionPair[] {
  const groups = Map.groupBy(turns, ({ nodeRegion, storeRegion }) => JSON.stringify([nodeRegion ?? "", storeRegion]));
  return [...groups.values()]
    .flatMap((group) => {
      const [first] = group;
      if (first === undefined) return [];
      const cases = group.flatMap(({ id }) => byTurn.get(id) ?? []);
      const [up, down] = WAYS.map((way) => mean(ratesOf(cases, way)));
      const rttMs = mean(group.flatMap(({ rttMs }) => (rttMs === null ? [] : [rttMs])));
      const { nodeRegion, storeRegion } = first;
      const pair = { nodeRegion: nodeRegion ?? "", storeRegion, turns: group.length, rttMs };
      return [{ ...pair, up: up ?? null, down: down ?? null }];
    })
    .sort((a, b) => (a.rttMs ?? Infinity) - (b.rttMs ?? Infinity));
}

function turnView(turn: BenchTurn, casesDone: number): TurnView {
  const { id, nodeId, nodeName, profileId, profileName, storeRegion, rttMs } = turn;
  return {
    id,
    nodeId,
    nodeName,
    nodeRegion: turn.nodeRegion ?? "",
    profileId,
    profileName,
    storeRegion,
    state: turnStateOf(turn.state),
    rttMs,
    engines: enginesOfTurn(turn),
    casesDone,
    fault: storedFault(turn.fault),
    startedAt: turn.startedAt?.getTime() ?? null,
    endedAt: turn.endedAt?.getTime() ?? null,
    isClean: turn.startedAt === null || turn.cleanAt !== null,
  };
}

export const benchCasesInput = z.object({
  id: z.string().max(64),
  turnId: z.string().max(64).nullable().default(null),
  /** Returns only failed cases. */
  failed: z.boolean().default(false),
  offset: z.number().int().min(0).max(1_000_000).default(0),
  limit: z.number().int().min(1).max(500).default(100),
});

/** Returns the engines that were looked for on the node of a turn. */
export const enginesOfTurn = (turn: Pick<BenchTurn, "engines">): TurnView["engines"] =>
  benchBeginInput.shape.engines.catch([]).parse(JSON.parse(turn.engines));

/** Returns a page of single cases, with the last log lines of their engines. */
export async function listCases(
  hub: Hub,
  input: z.infer<typeof benchCasesInput>,
): Promise<{ rows: CaseView[]; total: number }> {
  const { id, turnId, failed, offset, limit } = input;
  const where = {
    turn: { benchmarkId: id, ...(turnId === null ? {} : { id: turnId }) },
    ...(failed ? { bytesPerSecond: null } : {}),
  };
  const rows = await hub.db.benchCase.findMany({
    where,
    include: { turn: true },
    orderBy: [{ at: "asc" }, { turnId: "asc" }, { engine: "asc" }, { direction: "asc" }, { round: "asc" }],
    skip: offset,
    take: limit,
  });
  return { rows: rows.flatMap(caseView), total: await hub.db.benchCase.count({ where }) };
}

export function caseView(row: BenchCase & { turn: BenchTurn }): CaseView[] {
  const { engine, direction, turn, turnId, round, tookMs, loadMs, bytesPerSecond, log } = row;
  if (!isEngine(engine) || (direction !== "up" && direction !== "down")) return [];
  const { nodeName, nodeRegion, profileName, storeRegion, rttMs } = turn;
  return [
    {
      turnId,
      nodeName,
      nodeRegion: nodeRegion ?? "",
      profileName,
      storeRegion,
      rttMs,
      engine,
      direction,
      round,
      bytes: Number(row.bytes),
      tookMs,
      loadMs,
      bytesPerSecond,
      peakBytes: row.peakBytes === null ? null : Number(row.peakBytes),
      fault: storedFault(row.fault),
      log,
      at: row.at.getTime(),
    },
  ];
}
