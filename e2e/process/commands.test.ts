import { afterAll, beforeAll, expect, test } from "vitest";
import { runName } from "#protocol/base/names.ts";
import type { NodeCommand } from "#protocol/wire/command-shapes.ts";
import { openStage, type Stage } from "../stage/open-stage.ts";
import { startImds } from "../stage/start-imds.ts";
import { armFault, clearFaults } from "../stage/store-control.ts";
import { waitUntil } from "../stage/wait-until.ts";
import { writeCheckpoint } from "../stage/write-checkpoint.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

let requests = 0;
const send = async (name: string, order: NodeCommand, validMs = 600_000): Promise<string> => {
  const { sent } = await stage.client.commands.send.mutate({
    requestId: `request-${(requests += 1)}-${Date.now()}`,
    to: { filter: { scope: { nodes: name } } },
    order,
    validMs,
  });
  const id = sent[0]?.commandId;
  if (id === undefined || id === null) throw new Error(`nobody was asked: ${JSON.stringify(sent)}`);
  return id;
};
const rowsOf = async () => (await stage.client.commands.list.query({ limit: 200 })).rows;
const ended = (id: string) =>
  waitUntil(`command ${id} ended`, async () => (await rowsOf()).find((row) => row.id === id && row.endedAt !== null));
const online = (name: string) =>
  waitUntil(`${name} is online`, async () =>
    (await stage.client.nodes.list.query()).find((node) => node.name === name && node.state === "online"),
  );
const checkpoints = async (run: string) => (await stage.client.runs.get.query({ run: runName.parse(run) })).checkpoints;
/** A probe takes both cores for as long as it measures. */
const BRIEFLY = ["--probe-time", "2s"];
const hold = (kind: "hold" | "release"): NodeCommand => ({ kind, run: null, direction: "both" });
const write = (name: string, step: number) =>
  writeCheckpoint({ folder: stage.folderOf(name), step, modelBytes: 64 * 1024, optimizerBytes: 0, loss: 1 });

test("a node is held, released, limited, measured, drained and stopped from the hub", async () => {
  const run = runName.parse("ordered");
  const worker = await stage.startNode({ name: "gpu-1", run, flags: BRIEFLY });
  await online("gpu-1");
  expect(await ended(await send("gpu-1", hold("hold")))).toMatchObject({ state: "done" });
  write("gpu-1", 100);
  await waitUntil("the held checkpoint is captured", async () =>
    (await stage.client.nodes.list.query()).find((node) => node.runs.some(({ risk }) => risk.checkpoints === 1)),
  );
  expect((await checkpoints(run)).filter(({ state }) => state === "complete")).toEqual([]);
  await ended(await send("gpu-1", hold("release")));
  await waitUntil("it is safe", async () => (await checkpoints(run)).find(({ state }) => state === "complete"));

  const limited = await ended(await send("gpu-1", { kind: "limit", up: 3_000_000, until: Date.now() + 60_000 }));
  expect(limited).toMatchObject({ state: "done", detail: { up: "24.0 Mbps", down: null } });

  const probed = await ended(await send("gpu-1", { kind: "probe" }));
  expect(probed).toMatchObject({ state: "done" });
  expect(probed.detail?.["up"]).toBeGreaterThan(0);
  const { rows } = await stage.client.events.list.query({ nodeId: null, run: null, cursor: null, limit: 50 });
  expect(rows.some(({ kind, nodeName }) => kind === "link-probed" && nodeName === "gpu-1")).toBe(true);

  write("gpu-1", 200);
  expect(await ended(await send("gpu-1", { kind: "flush", run: null, timeoutMs: null }))).toMatchObject({
    state: "done",
  });
  const complete = (await checkpoints(run)).filter(({ state }) => state === "complete").map(({ step }) => step);
  expect(complete).toContain(200);

  await ended(await send("gpu-1", { kind: "drain" }));
  write("gpu-1", 300);
  const refused = await ended(await send("gpu-1", { kind: "reallocate", reason: "test", graceMs: 0 }));
  expect(refused).toMatchObject({ state: "failed", fault: { code: "PLATFORM_FAILED" } });
  expect((await checkpoints(run)).map(({ step }) => step)).not.toContain(300);
  await ended(await send("gpu-1", hold("release")));
  await waitUntil("a released node takes it", async () =>
    (await checkpoints(run)).find(({ step, state }) => step === 300 && state === "complete"),
  );

  expect(await ended(await send("gpu-1", { kind: "stop", graceMs: 10_000 }))).toMatchObject({ state: "done" });
  expect((await worker.exited).code).toBe(0);
  await stage.startNode({ name: "gpu-1", run });
  await online("gpu-1");
  expect((await rowsOf()).filter(({ kind }) => kind === "stop")).toMatchObject([{ state: "done" }]);
});

test("a machine is given back from the hub once what is finished is safe, and the worker on it ends", async () => {
  const run = runName.parse("exchanged");
  const imds = await startImds();
  const env = { TIDEMARK_IMDS_URL: imds.url, SALAD_MACHINE_ID: "machine-4" };
  const worker = await stage.startNode({ name: "gpu-4", run, env, flags: ["--limit-up", "40kB"] });
  await online("gpu-4");
  writeCheckpoint({ folder: stage.folderOf("gpu-4"), step: 100, modelBytes: 200_000, optimizerBytes: 0, loss: 1 });
  await waitUntil("the checkpoint is captured and not safe yet", async () =>
    (await stage.client.nodes.list.query()).find((node) => node.runs.some(({ risk }) => risk.checkpoints === 1)),
  );
  const order: NodeCommand = { kind: "reallocate", reason: "another one, please", graceMs: 60_000 };
  expect(await ended(await send("gpu-4", order))).toMatchObject({ state: "done", detail: { unsafe: 0 } });
  expect(await imds.askedAt("/v1/reallocate")).toEqual([
    expect.objectContaining({ method: "POST", metadata: "true", body: { reason: "tidemark: another one, please" } }),
  ]);
  expect((await checkpoints(run)).find(({ step }) => step === 100)).toMatchObject({ state: "complete" });
  expect((await worker.exited).code).toBe(0);
  await waitUntil("the hub knows that it left", async () =>
    (await stage.client.nodes.list.query()).find(({ name, state }) => name === "gpu-4" && state === "offline"),
  );
  await imds.stop();
});

test("a node that was away hears of what is still valid, and never carries out what is not", async () => {
  const run = runName.parse("away");
  const begun: string[] = [];
  const node = { name: "gpu-2", run, flags: ["--json"], onLine: (line: string) => void begun.push(line) };
  const first = await stage.startNode(node);
  await online("gpu-2");
  // Whoever is online has not yet its credential on disk.
  await ended(await send("gpu-2", hold("release")));
  await first.stop("SIGKILL");
  const late = await send("gpu-2", { kind: "limit", up: 1_000_000, until: null }, 1_000);
  const valid = await send("gpu-2", { kind: "limit", up: 2_000_000, until: null });
  await waitUntil("the late one expired", async () => (await ended(late)).state === "expired");
  await stage.startNode(node);
  expect(await ended(valid)).toMatchObject({ state: "done", detail: { up: "16.0 Mbps" } });
  expect(begun.some((line) => line.includes(valid))).toBe(true);
  expect(begun.some((line) => line.includes(late))).toBe(false);
  expect((await rowsOf()).find(({ id }) => id === late)).toMatchObject({ state: "expired" });
});

test("uploads of a run are cancelled and tried again from the hub, and those of another run are left alone", async () => {
  const run = runName.parse("steered");
  await stage.startNode({ name: "gpu-7", run });
  await online("gpu-7");
  const safeSteps = async () =>
    (await checkpoints("steered")).filter(({ state }) => state === "complete").map(({ step }) => step);
  await ended(await send("gpu-7", hold("hold")));
  write("gpu-7", 100);
  await waitUntil("the held one is captured", async () =>
    (await stage.client.nodes.list.query()).find(
      ({ name, runs }) => name === "gpu-7" && runs[0]?.risk.checkpoints === 1,
    ),
  );
  const other = await ended(await send("gpu-7", { kind: "cancel-uploads", run: runName.parse("another") }));
  expect(other).toMatchObject({ state: "done", detail: { uploads: 0 } });
  expect(await ended(await send("gpu-7", { kind: "cancel-uploads", run }))).toMatchObject({
    state: "done",
    detail: { uploads: 1 },
  });
  await ended(await send("gpu-7", hold("release")));

  await armFault(stage.store, {
    op: "PutObject",
    keyPattern: "*steered*",
    action: { kind: "error", status: 403, code: "AccessDenied" },
  });
  write("gpu-7", 200);
  const failed = { nodeId: null, run, states: ["failed" as const], cursor: null, limit: 1 };
  await waitUntil("its upload fails", async () => (await stage.client.transfers.list.query(failed)).rows[0]);
  await clearFaults(stage.store);
  expect(await ended(await send("gpu-7", { kind: "retry-uploads", run: null }))).toMatchObject({
    state: "done",
    detail: { uploads: 1 },
  });
  await waitUntil("it is safe", async () => (await safeSteps()).includes(200));
  expect(await safeSteps()).toEqual([200]);
});

test("a worker killed at random moments takes every command once", async () => {
  const run = runName.parse("once");
  const lines: string[] = [];
  const node = { name: "gpu-3", run, flags: ["--json", ...BRIEFLY], onLine: (line: string) => void lines.push(line) };
  let worker = await stage.startNode(node);
  await online("gpu-3");
  await ended(await send("gpu-3", hold("release")));
  const orders: NodeCommand[] = [
    { kind: "probe" },
    hold("hold"),
    hold("release"),
    { kind: "limit", up: 5_000_000, until: null },
    { kind: "priority", run, priority: "high" },
    { kind: "flush", run: null, timeoutMs: null },
  ];
  const ids: { id: string; kind: string }[] = [];
  for (let kills = 0; kills < 6; kills++) {
    for (const order of orders) ids.push({ id: await send("gpu-3", order), kind: order.kind });
    const moment = Math.random() * 1_500;
    const since = performance.now();
    await waitUntil("the moment has come", () => performance.now() - since >= moment, { everyMs: 5 });
    await worker.stop("SIGKILL");
    worker = await stage.startNode(node);
  }
  for (const { id } of ids) await ended(id);
  const rows = await rowsOf();
  const probes = rows.filter(({ id, kind }) => kind === "probe" && ids.some((one) => one.id === id));
  expect(probes).toHaveLength(6);
  for (const row of rows.filter(({ id }) => ids.some((one) => one.id === id))) {
    const isKilled = row.state === "failed" && row.fault?.code === "INTERRUPTED";
    expect(row.state === "done" || (row.kind === "probe" && isKilled), `${row.kind} ${row.state}`).toBe(true);
  }
  const begun = (id: string) => lines.filter((line) => line.includes('"command"') && line.includes(id)).length;
  for (const { id } of probes) expect(begun(id), `probe ${id}`).toBeLessThanOrEqual(1);
  const { rows: events } = await stage.client.events.list.query({ nodeId: null, run: null, cursor: null, limit: 200 });
  const measured = events.filter(({ kind, nodeName }) => kind === "link-probed" && nodeName === "gpu-3");
  expect(measured.length).toBeLessThanOrEqual(probes.length);
});
