import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { BenchView } from "#protocol/benchmarks/views.ts";
import { EVERYWHERE } from "#protocol/base/scope.ts";
import { openStage, type Stage } from "../stage/open-stage.ts";
import { readCounters } from "../stage/store-control.ts";
import { waitUntil } from "../stage/wait-until.ts";

/** A benchmark over real workers, a real hub and a real store: what is measured, what survives, and what the tables say. */

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
  await stage.client.benchmarks.setKey.mutate({
    profileId: stage.profileId,
    key: { kind: "given", accessKeyId: stage.store.accessKey, secretAccessKey: stage.store.secretKey },
    grant: null,
  });
});
afterAll(() => stage.close());

const online = (name: string) =>
  waitUntil(`${name} is online`, async () =>
    (await stage.client.nodes.list.query()).find((node) => node.name === name && node.state === "online"),
  );
const node = (name: string) => stage.startNode({ name, run: name, flags: ["--label", `region=${name}-region`] });

async function start(
  changes: { engines: ("tidemark" | "tidemark-auto" | "sdk")[]; rounds: number },
  nodes: string | null = null,
): Promise<string> {
  const id = randomUUID();
  await stage.client.benchmarks.start.mutate({
    id,
    name: "over two nodes",
    targets: { scope: { ...EVERYWHERE, nodes }, sample: null, profileIds: [stage.profileId] },
    settings: {
      directions: ["up", "down"],
      sizeBytes: 6_000_000,
      partBytes: 5_242_880,
      connections: 3,
      timeLimitMs: 120_000,
      memoryBytes: 2_000_000_000,
      ...changes,
    },
    perBucket: 2,
    seed: 11,
  });
  return id;
}

const read = (id: string) => stage.client.benchmarks.get.query({ id });
const done = (id: string): Promise<BenchView> =>
  waitUntil("the benchmark is over and the bucket is clean", async () => {
    const view = await read(id).catch(() => null);
    return view?.state === "done" && view.turnList.every(({ isClean }) => isClean) ? view : undefined;
  });

interface Row {
  node: string;
  engine: string;
  direction: string;
  rate: number | null;
}

/** The exported table read again, by nothing of ours. */
async function exported(id: string): Promise<Row[]> {
  const { text } = await stage.client.benchmarks.export.query({ id, format: "csv" });
  const [head = "", ...lines] = text
    .replace(/^\ufeff/, "")
    .trim()
    .split(/\r?\n/);
  const names = head.split(",");
  return lines.map((line) => {
    const cells = line.split(",");
    const cell = (name: string) => cells[names.indexOf(name)] ?? "";
    const rate = cell("bytes_per_second");
    return {
      node: cell("node"),
      engine: cell("engine"),
      direction: cell("direction"),
      rate: rate === "" ? null : Number(rate),
    };
  });
}

const average = (values: number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
function percentile(values: number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const place = (sorted.length - 1) * share;
  const [low, high] = [sorted[Math.floor(place)] ?? Number.NaN, sorted[Math.ceil(place)] ?? Number.NaN];
  return low * (1 - (place % 1)) + high * (place % 1);
}

test("nodes measure with signatures and with a lent key, and the tables are those of the exported cases", async () => {
  await node("east");
  await node("west");
  await Promise.all([online("east"), online("west")]);
  const id = await start({ engines: ["tidemark", "tidemark-auto", "sdk"], rounds: 2 });
  const view = await done(id);
  expect(view.turnList.map(({ state, fault }) => [state, fault])).toEqual([
    ["done", null],
    ["done", null],
  ]);
  expect(view).toMatchObject({ casesDone: 24, casesFailed: 0, turns: { done: 2 } });
  for (const { rttMs, engines } of view.turnList) {
    expect(rttMs).toBeGreaterThan(0);
    expect(engines.map(({ missing }) => missing)).toEqual([null, null, null]);
  }
  const rows = await exported(id);
  expect(rows).toHaveLength(24);
  for (const direction of ["up", "down"] as const) {
    const own = rows.filter((row) => row.direction === direction);
    const maxima = ["east", "west"].map((name) =>
      Math.max(...own.filter((row) => row.node === name).map(({ rate }) => rate ?? 0)),
    );
    const told = view.summary.maxima[direction];
    expect(told?.mean).toBeCloseTo(average(maxima), 3);
    expect(told?.p10).toBeCloseTo(percentile(maxima, 0.1), 3);
    expect(told?.p50).toBeCloseTo(percentile(maxima, 0.5), 3);
    expect(told?.p90).toBeCloseTo(percentile(maxima, 0.9), 3);
    for (const engine of ["tidemark", "tidemark-auto", "sdk"]) {
      const summary = view.summary.engines.find((one) => one.engine === engine && one.direction === direction);
      const rates = own.filter((row) => row.engine === engine).map(({ rate }) => rate ?? 0);
      const wins = ["east", "west"].filter((name, index) =>
        own.some((row) => row.node === name && row.engine === engine && row.rate === maxima[index]),
      ).length;
      expect(summary?.meanBytesPerSecond).toBeCloseTo(average(rates), 3);
      expect(summary?.bestShare).toBeCloseTo(wins / 2, 6);
      expect(summary).toMatchObject({ cases: 4, failed: 0 });
    }
  }
  expect(view.regions.map(({ nodeRegion }) => nodeRegion).toSorted()).toEqual(["east-region", "west-region"]);
  const { targets } = await readCounters(stage.store, "PutObject");
  expect(
    targets.every(
      ({ key }) =>
        !key.includes("_tidemark/bench/") ||
        key.includes(view.turnList[0]?.id ?? "") ||
        key.includes(view.turnList[1]?.id ?? ""),
    ),
  ).toBe(true);
});

test("a node and the hub that are killed in the middle go on with what was not told yet", async () => {
  const name = "fragile";
  let worker = await node(name);
  await online(name);
  const id = await start({ engines: ["tidemark"], rounds: 5 }, name);
  const told = async () =>
    (await stage.client.benchmarks.cases.query({ id, limit: 500 })).rows.filter((row) => row.nodeName === name);
  await waitUntil("it has told a case", async () => ((await told()).length > 0 ? true : undefined));
  await worker.stop("SIGKILL");
  await stage.killHub();
  await stage.startHubAgain();
  const before = await told();
  expect(before.length).toBeLessThan(10);
  worker = await node(name);
  const view = await done(id);
  const after = await told();
  expect(view.turnList.find(({ nodeName }) => nodeName === name)).toMatchObject({
    fault: null,
    state: "done",
    casesDone: 10,
  });
  // The cases that were told before stay.
  const measured = (rows: typeof before) => rows.map((row) => ({ ...row, rttMs: null }));
  expect(measured(after.slice(0, before.length))).toEqual(measured(before));
});

test("a benchmark that is cancelled ends at its nodes, and leaves nothing in the bucket", async () => {
  const id = await start({ engines: ["tidemark"], rounds: 20 });
  await waitUntil("it runs", async () => ((await read(id)).casesDone > 0 ? true : undefined));
  await stage.client.benchmarks.cancel.mutate({ id });
  await waitUntil("no node works for it any more", async () => {
    const { rows } = await stage.client.commands.list.query({ limit: 200 });
    const turns = (await read(id)).turnList.filter(({ startedAt }) => startedAt !== null);
    const ended = rows.filter(({ kind, endedAt }) => kind === "bench" && endedAt !== null);
    return turns.length > 0 && ended.length >= turns.length && turns.every(({ isClean }) => isClean) ? true : undefined;
  });
  expect((await read(id)).state).toBe("cancelled");
});
