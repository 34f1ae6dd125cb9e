import { monitorEventLoopDelay } from "node:perf_hooks";
import type { PoolRoom } from "#prisma/postgres/pool.ts";
import { createDurations, type Durations } from "#protocol/base/exposition.ts";

/** Sizes of the database's write-ahead log and of the free disk space. */
export interface DatabaseRoom {
  logBytes: number;
  freeBytes: number;
}

/** Counts since the hub started, by label. A count made in a transaction that then fails is not undone. */
export interface Counters {
  /** Answers by class: `2xx`, `4xx`, ... */
  answers: Map<string, number>;
  signatures: number;
  reports: number;
  /** Commands by state: `sent` and each outcome. */
  commands: Map<string, number>;
  /** Time from a person's request until the node has the command in its journal. */
  commandDelivery: Durations;
  /** Calls of stores by outcome: `ok`, the class of a status, or `none` without an answer. */
  storeCalls: Map<string, number>;
  /** Duration of a write or transaction, including the wait for others. */
  dbWrites: Durations;
  uploads: Map<string, number>;
  restores: Map<string, number>;
  /** Verifications and restore drills. */
  checks: Map<string, number>;
  /** Bytes that crossed the network, by direction. */
  transferBytes: Map<string, number>;
  /** Attempts of jobs that ended, by outcome. */
  jobAttempts: Map<string, number>;
  checkpointsCommitted: number;
  losses: number;
  lostMs: number;
  probes: Map<string, number>;
  /** Refused sign-ins and credentials, by kind. */
  refusals: Map<string, number>;
  /** Stalls of the event loop, by the procedure that began last. */
  stalls: Map<string, number>;
  /** The last measurement of the data folder; null before the first. */
  database: DatabaseRoom | null;
  /** Returns the connections to PostgreSQL now; null on SQLite. */
  connections: (() => PoolRoom) | null;
  /** Delay of the event loop since metrics were last read. */
  lag: ReturnType<typeof monitorEventLoopDelay>;
}

const DELIVERY_BOUNDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800];
const WRITE_BOUNDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5];
const LAG_RESOLUTION_MS = 20;

const zero = (...labels: string[]): Map<string, number> => new Map(labels.map((label) => [label, 0]));

export function createCounters(): Counters {
  const lag = monitorEventLoopDelay({ resolution: LAG_RESOLUTION_MS });
  lag.enable();
  return {
    answers: zero("2xx", "4xx", "5xx"),
    signatures: 0,
    reports: 0,
    commands: zero("sent", "done", "failed", "cancelled"),
    commandDelivery: createDurations(DELIVERY_BOUNDS),
    storeCalls: zero("ok", "4xx", "5xx", "none"),
    dbWrites: createDurations(WRITE_BOUNDS),
    uploads: zero("done", "failed", "cancelled", "superseded"),
    restores: zero("done", "failed", "cancelled"),
    checks: zero("done", "failed", "cancelled"),
    transferBytes: zero("upload", "download", "verify", "drill", "copy"),
    jobAttempts: zero("completed", "failed", "interrupted", "canceled"),
    checkpointsCommitted: 0,
    losses: 0,
    lostMs: 0,
    database: null,
    connections: null,
    probes: zero("accept", "warn", "reject"),
    refusals: zero("password", "code", "api-token", "node-credential", "join-token"),
    stalls: zero("none"),
    lag,
  };
}

export function countUp(counts: Map<string, number>, label: string, by = 1): void {
  counts.set(label, (counts.get(label) ?? 0) + by);
}

export const countAnswer = (counters: Pick<Counters, "answers">, status: number): void =>
  countUp(counters.answers, `${Math.floor(status / 100)}xx`);
