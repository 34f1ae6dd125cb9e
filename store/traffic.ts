/**
 * Records requests for tests: how often a part was sent, over how many connections, with which headers. Keeps names and
 * numbers only, never header values, queries or signatures. Details are kept only if enabled.
 */
import type { Operation } from "./route.ts";

/** One answered (or cut) request. `status` is 0 when the connection was cut before an answer. */
type RequestRecord = {
  readonly sequence: number;
  readonly atMs: number;
  readonly durationMs: number;
  readonly operation: Operation;
  readonly bucket: string;
  readonly key: string;
  readonly partNumber: number | undefined;
  readonly status: number;
  readonly receivedBytes: number;
  readonly sentBytes: number;
  readonly connection: number;
  readonly faults: readonly string[];
  readonly headerNames: readonly string[];
  /** Request features that some stores refuse (see apply-quirks.ts). */
  readonly risky: readonly string[];
};

/** Counters of one operation on one key and part. */
type TargetCount = {
  readonly operation: Operation;
  readonly bucket: string;
  readonly key: string;
  readonly partNumber: number | undefined;
  readonly requests: number;
  readonly succeeded: number;
  readonly receivedBytes: number;
};

/** Totals since the start or the last reset. */
type TrafficTotals = {
  readonly requests: number;
  readonly receivedBytes: number;
  readonly sentBytes: number;
  readonly connectionsOpened: number;
  readonly connectionsOpen: number;
  readonly inFlight: number;
  readonly maxInFlight: number;
  readonly byOperation: Readonly<Record<string, number>>;
  /** Number of requests by feature that some stores refuse. */
  readonly risky: Readonly<Record<string, number>>;
};

/** The record of the store's requests. */
export type Traffic = {
  readonly connectionOpened: () => number;
  readonly connectionClosed: () => void;
  readonly requestBegan: () => number;
  /** Notes that a client may have its whole answer. Returns a function to call once `requestEnded` has recorded it. */
  readonly answered: () => () => void;
  /** Resolves once all requests that clients may see as answered are recorded. */
  readonly recorded: () => Promise<void>;
  readonly requestEnded: (record: Omit<RequestRecord, "sequence">) => void;
  readonly totals: () => TrafficTotals;
  readonly targets: () => readonly TargetCount[];
  readonly log: () => readonly RequestRecord[];
  readonly reset: () => void;
};

const MAX_LOG = 20_000;

type Counts = Omit<TrafficTotals, "byOperation" | "risky" | "inFlight" | "connectionsOpen">;

const NOTHING: Counts = { requests: 0, receivedBytes: 0, sentBytes: 0, connectionsOpened: 0, maxInFlight: 0 };

/** Returns an empty record. With `detail` off, only totals are kept. */
export function openTraffic(detail: "on" | "off"): Traffic {
  let counts = NOTHING;
  let byOperation: Record<string, number> = {};
  let risky: Record<string, number> = {};
  let targets = new Map<string, TargetCount>();
  let log: RequestRecord[] = [];
  let inFlight = 0;
  let connections = 0;
  let connectionsOpen = 0;
  let sequence = 0;
  let unrecorded = 0;
  let waiting: (() => void)[] = [];

  const countTarget = (record: Omit<RequestRecord, "sequence">): void => {
    const { operation, bucket, key, partNumber } = record;
    const name = JSON.stringify([operation, bucket, key, partNumber]);
    const before = targets.get(name);
    const succeeded = record.status >= 200 && record.status < 300 ? 1 : 0;
    targets.set(name, {
      operation,
      bucket,
      key,
      partNumber,
      requests: (before?.requests ?? 0) + 1,
      succeeded: (before?.succeeded ?? 0) + succeeded,
      receivedBytes: (before?.receivedBytes ?? 0) + record.receivedBytes,
    });
  };

  return {
    connectionOpened: () => {
      counts = { ...counts, connectionsOpened: counts.connectionsOpened + 1 };
      connectionsOpen += 1;
      connections += 1;
      return connections;
    },
    connectionClosed: () => {
      connectionsOpen -= 1;
    },
    requestBegan: () => {
      inFlight += 1;
      counts = { ...counts, maxInFlight: Math.max(counts.maxInFlight, inFlight) };
      return inFlight;
    },
    answered: () => {
      unrecorded += 1;
      return () => {
        unrecorded -= 1;
        if (unrecorded > 0) return;
        for (const go of waiting) go();
        waiting = [];
      };
    },
    recorded: () => (unrecorded === 0 ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
    requestEnded: (record) => {
      inFlight -= 1;
      sequence += 1;
      counts = {
        ...counts,
        requests: counts.requests + 1,
        receivedBytes: counts.receivedBytes + record.receivedBytes,
        sentBytes: counts.sentBytes + record.sentBytes,
      };
      byOperation[record.operation] = (byOperation[record.operation] ?? 0) + 1;
      for (const name of record.risky) risky[name] = (risky[name] ?? 0) + 1;
      if (detail === "off") return;
      countTarget(record);
      log.push({ ...record, sequence });
      if (log.length > MAX_LOG) log = log.slice(-MAX_LOG / 2);
    },
    totals: () => ({ ...counts, connectionsOpen, inFlight, byOperation: { ...byOperation }, risky: { ...risky } }),
    targets: () => [...targets.values()],
    log: () => log,
    reset: () => {
      counts = NOTHING;
      byOperation = {};
      risky = {};
      targets = new Map();
      log = [];
    },
  };
}
