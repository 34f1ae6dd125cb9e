import { createHash } from "node:crypto";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { USUAL_SETTINGS } from "#protocol/benchmarks/plan-input.ts";
import { packMinute } from "#protocol/history/minute-bytes.ts";
import type { Stage } from "../../../stage/open-stage.ts";

/**
 * Fills the database of a stopped hub like a large fleet does in a month. It gets ten thousand nodes, two hundred runs, ten
 * thousand checkpoints, and their history. Half of the checkpoints are in one run.
 */

export const NODES = 10_000;
export const RUNS = 200;
export const CHECKPOINTS = 10_000;
const DAY_MS = 86_400_000;
const SHELF_NODES = 64;
const MINUTES = 120;

export const nodeId = (index: number): string => `node-${String(index).padStart(6, "0")}`;
export const runOf = (index: number): string => `run-${String(index).padStart(4, "0")}`;
export const checkpointId = (index: number): string => `checkpoint-${String(index).padStart(6, "0")}`;

type Value = string | number | null | Uint8Array;
type Row = Record<string, Value>;

/** Inserts `count` rows into a table, each returned by `make`. */
function fill(database: DatabaseSync, about: { table: string; count: number }, make: (index: number) => Row): void {
  const { table, count } = about;
  const columns = Object.keys(make(0));
  const names = columns.map((name) => `"${name}"`).join(", ");
  const insert = database.prepare(`insert into "${table}" (${names}) values (${columns.map(() => "?").join(", ")})`);
  database.exec("begin");
  for (let index = 0; index < count; index++) {
    const row = make(index);
    insert.run(...columns.map((name) => row[name] ?? null));
  }
  database.exec("commit");
}

/** Returns the run of a checkpoint; the first run has half of all checkpoints. */
const runOfCheckpoint = (index: number): number =>
  index < CHECKPOINTS / 2 ? 0 : 1 + ((index - CHECKPOINTS / 2) % (RUNS - 1));

const FACTS = JSON.stringify({
  hostname: "host",
  platform: "linux",
  cpus: 8,
  memoryBytes: 64e9,
  gpu: "RTX 4090",
  labels: { region: "eu" },
  machineId: null,
  workerVersion: "0.1.0",
});

function reportOf(index: number, now: number): string {
  const backlog = {
    run: runOf(index % RUNS),
    writerEpoch: 1,
    unsafeCheckpoints: index % 3,
    unsafeFiles: 2,
    unsafeBytes: 3e9,
    movedBytes: 1e9,
    safeStep: 400,
    safeAt: now - 600_000,
    safeBytes: 5e9,
    localStep: 500,
    localAt: now - 60_000,
    oldestUnsafeAt: index % 3 === 0 ? null : now - 90_000,
    startedAt: now - 6_000_000,
    intervalMs: 540_000,
    trainedStep: null,
    trainedAt: null,
    idleMs: 0,
    leastIntervalMs: null,
  };
  return JSON.stringify({
    bootId: `boot-${index}-0000`,
    seq: 1,
    at: now,
    upBytesPerSecond: 1e6,
    downBytesPerSecond: 0,
    rttMs: 40,
    disk: { path: "/checkpoints", freeBytes: 1e12, totalBytes: 2e12 },
    cpuPercent: 3,
    runs: [backlog],
    transfers: [],
  });
}

interface Filling {
  database: DatabaseSync;
  profileId: string;
  now: number;
}

function fillFleet({ database, profileId, now }: Filling): void {
  fill(database, { table: "Node", count: NODES }, (index) => ({
    id: nodeId(index),
    name: `gpu-${String(index).padStart(6, "0")}`,
    credentialHash: createHash("sha256").update(`node ${index}`).digest("hex"),
    credentialAt: now,
    profileId,
    facts: FACTS,
    enrolledAt: now - 30 * DAY_MS,
    lastSeenAt: now,
    acceptedSeq: 0,
    lastReport: reportOf(index, now),
  }));
  fill(database, { table: "Run", count: RUNS }, (index) => ({ name: runOf(index), profileId, createdAt: now - index }));
  fill(database, { table: "Epoch", count: RUNS * 5 }, (index) => ({
    run: runOf(index % RUNS),
    epoch: 1 + Math.floor(index / RUNS),
    nodeId: nodeId(index),
    claimedAt: now - DAY_MS,
    isChosen: 0,
  }));
  fill(database, { table: "Checkpoint", count: CHECKPOINTS }, (index) => ({
    id: checkpointId(index),
    run: runOf(runOfCheckpoint(index)),
    step: index,
    writerEpoch: 1 + (index % 5),
    attempt: `attempt${String(index).padStart(8, "0")}`,
    nodeId: nodeId(index),
    profileId,
    bucket: "training",
    prefix: "",
    state: index % 50 === 0 ? "trashed" : "complete",
    metrics: JSON.stringify({ loss: index / 7, accuracy: 0.5 }),
    fileCount: 8,
    sizeBytes: 5_000_000_000,
    capturedAt: now - index * 60_000,
    announcedAt: now - index * 60_000,
    committedAt: now - index * 60_000,
    manifestSha256: createHash("sha256").update(`checkpoint ${index}`).digest("hex"),
    objectCount: 9,
    objectBytes: 5_000_000_000,
  }));
  fill(database, { table: "KeepRecord", count: 2_000 }, (index) => ({
    id: `word-${index}`,
    run: runOf(runOfCheckpoint(index * 5)),
    checkpointId: checkpointId(index * 5),
    kind: index % 10 === 0 ? "trash" : index % 2 === 0 ? "pin" : "tag",
    text: "best",
    at: now - index,
    by: "somebody@example.com",
    key: `keeping/${index}`,
    ends: "[]",
    until: now + DAY_MS,
  }));
}

function fillWork({ database, profileId, now }: Filling): void {
  fill(database, { table: "Transfer", count: 50_000 }, (index) => ({
    id: `transfer-${index}`,
    nodeId: nodeId(index % NODES),
    direction: index % 5 === 0 ? "download" : "upload",
    state: "done",
    checkpointId: checkpointId(index % CHECKPOINTS),
    run: runOf(index % RUNS),
    step: index,
    bucket: "training",
    place: "/checkpoints",
    bytesDone: 5e9,
    bytesTotal: 5e9,
    sentBytes: 5e9,
    filesDone: 8,
    filesTotal: 8,
    connections: 8,
    retries: 0,
    startedBy: "queue",
    createdAt: now - index * 30_000,
    startedAt: now - index * 30_000,
    endedAt: now - index * 30_000 + 10_000,
  }));
  fill(database, { table: "Event", count: 50_000 }, (index) => ({
    at: now - (50_000 - index) * 30_000,
    kind: "checkpoint-safe",
    work: "safe",
    nodeId: nodeId(index % NODES),
    nodeName: `gpu-${index % NODES}`,
    run: runOf(index % RUNS),
    text: `made step ${index} safe`,
  }));
  fill(database, { table: "Audit", count: 20_000 }, (index) => ({
    at: now - (20_000 - index) * 60_000,
    actorKind: "person",
    actorId: "somebody",
    actor: "somebody@example.com",
    action: index % 2 === 0 ? "sign writes" : "restore",
    subject: `step ${index}`,
    subjectId: profileId,
    times: 3,
  }));
  fill(database, { table: "Loss", count: 5_000 }, (index) => ({
    id: `loss-${index}`,
    at: now - index * 600_000,
    run: runOf(index % RUNS),
    epoch: 1,
    nodeId: nodeId(index),
    byNodeId: nodeId(index + 1),
    fromStep: 1,
    lastStep: 9,
    lostSteps: 8,
    lostMs: 60_000,
  }));
  fill(database, { table: "Command", count: 20_000 }, (index) => ({
    id: `command-${index}`,
    requestId: `request-${index}`,
    nodeId: nodeId(index % NODES),
    kind: "restore",
    transferId: `transfer-${index}`,
    checkpointId: checkpointId(index % CHECKPOINTS),
    body: "{}",
    state: "done",
    createdAt: now - index * 60_000,
    endedAt: now - index * 60_000,
    batchId: `batch-${index % 20}`,
  }));
  fill(database, { table: "Probe", count: 25_000 }, (index) => ({
    id: `probe-${index}`,
    nodeId: nodeId(index % NODES),
    machine: `machine-${index % 8_000}`,
    profileId,
    at: now - index * 60_000,
    outcome: "accept",
    reason: "",
    rttMs: 40,
    clockSkewMs: 1,
    up: 1e7,
    down: 1e8,
    isUpSteady: 1,
    isDownSteady: 1,
    attempts: 1,
    tookMs: 9_000,
  }));
}

function fillHistory({ database, profileId, now }: Filling): void {
  const place = { profileId, provider: "minio", bucketRegion: "us-east-1", nodeRegion: "eu", engine: "tidemark" };
  fill(database, { table: "HistoryNode", count: NODES }, (index) => ({ number: index + 1, nodeId: nodeId(index) }));
  fill(database, { table: "HistorySeries", count: NODES + 1 }, (index) => ({
    id: index + 1,
    node: index,
    ...place,
    wholeId: index === 0 ? 0 : 1,
  }));
  fill(database, { table: "LinkRecord", count: 100_000 }, (index) => ({
    at: now - (100_000 - index) * 20_000,
    kind: index % 3 === 0 ? "probe" : "upload",
    subjectId: `subject-${index}`,
    node: 1 + (index % NODES),
    seriesId: 2 + (index % NODES),
    run: runOf(index % RUNS),
    outcome: "done",
    rttMs: 40,
    up: 1e7,
    down: 1e8,
    effective: 1e7,
    rampMs: 300,
    tookMs: 9_000,
    isSteady: 1,
    sizeBytes: 5e9,
    sentBytes: 5e9,
    parts: 300,
    partBytes: 16e6,
    connections: 8,
    retries: 0,
  }));
  const entries = Array.from({ length: SHELF_NODES }, (_, index) => ({
    series: 2 + index,
    up: 1e6,
    down: 0,
    atRiskBytes: 3e9,
    lossMs: 60_000,
    rttMs: 40,
    upBucket: 100,
    downBucket: 0xffff,
    cpuPercent: 3,
  }));
  const body = packMinute(entries);
  const minute = Math.floor(now / 60_000);
  const shelves = Math.ceil(NODES / SHELF_NODES);
  fill(database, { table: "HistoryMinute", count: shelves * MINUTES }, (index) => ({
    shelf: 1 + Math.floor(index / MINUTES),
    minute: minute - (index % MINUTES),
    body,
  }));
  fill(database, { table: "FleetMinute", count: 10_080 }, (index) => ({
    minute: minute - index,
    upBytesPerSecond: 1e9,
    downBytesPerSecond: 1e8,
    atRiskBytes: 1e12,
    lossMs: 1e9,
    rttSumMs: 400_000,
    rttCount: 10_000,
  }));
}

/** Inserts a benchmark of 5,000 links with four cases each. */
function fillBenchmark({ database, profileId, now }: Filling): void {
  fill(database, { table: "Benchmark", count: 1 }, () => ({
    id: "bench-large",
    name: "all of them",
    state: "done",
    settings: JSON.stringify(USUAL_SETTINGS),
    targets: "{}",
    perBucket: 4,
    seed: 1,
    actor: "somebody@example.com",
    startedAt: now - DAY_MS,
    endedAt: now - DAY_MS / 2,
  }));
  fill(database, { table: "BenchTurn", count: 5_000 }, (index) => ({
    id: `turn-${index}`,
    benchmarkId: "bench-large",
    position: index,
    nodeId: nodeId(index),
    nodeName: `gpu-${index}`,
    nodeRegion: "eu",
    profileId,
    profileName: "stage bucket",
    storeRegion: "us-east-1",
    prefix: `bench/${index}/`,
    state: "done",
    rttMs: 40,
    engines: "[]",
    startedAt: now - DAY_MS,
    endedAt: now - DAY_MS / 2,
    cleanAt: now - DAY_MS / 2,
  }));
  fill(database, { table: "BenchCase", count: 20_000 }, (index) => ({
    turnId: `turn-${Math.floor(index / 4)}`,
    engine: "tidemark",
    direction: index % 2 === 0 ? "up" : "down",
    round: 1 + (Math.floor(index / 2) % 2),
    bytes: 1e8,
    tookMs: 9_000,
    bytesPerSecond: 1e7,
    log: "",
    at: now - DAY_MS,
  }));
}

/** Stops the hub of a stage, fills its database and starts it again. */
export async function fillLarge(stage: Stage): Promise<void> {
  await stage.hub.stop();
  const database = new DatabaseSync(join(stage.dir, "hub", "hub.db"));
  const filling = { database, profileId: stage.profileId, now: Date.now() };
  try {
    fillFleet(filling);
    fillWork(filling);
    fillHistory(filling);
    fillBenchmark(filling);
  } finally {
    database.close();
  }
  await stage.startHubAgain();
}
