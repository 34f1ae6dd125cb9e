import type { Fault } from "#protocol/faults/fault.ts";
import type { TimerCoalescer } from "#worker/base/timer-coalescer.ts";
import { Connection } from "./connection.ts";
import { createIdleConnections } from "./idle-connections.ts";
import type { Origin } from "./socket/open-socket.ts";
import type { Shared } from "./task.ts";

/**
 * The connections of one client, never more than a number that may change in use. Requests wait in one queue. The connection
 * used last is used first, so that a few stay warm instead of many going stale.
 */
export interface Pool {
  /** Queues a request for a connection. Returns a function that removes the request from the queue. */
  acquire(wanted: Wanted): () => void;
  warm(origin: Origin, count: number): void;
  setConnections(count: number): void;
  readonly open: number;
  /** Number of idle connections past their slow start. They are used first. */
  readonly grown: number;
  /** Drops every connection, without waiting for anything. */
  close(): void;
}

export interface Wanted {
  origin: Origin;
  /** Whether only a new connection will do. */
  mustBeNew: boolean;
  /** `isNew`: the connection was never idle, so its end cannot have gone unnoticed. */
  use(connection: Connection, how: { isNew: boolean }): void;
  fail(fault: Fault): void;
}

const isOf = (origin: Origin) => (one: { origin: Origin }) => one.origin.key === origin.key;

/** Returns a function that runs `work`. A call while it runs makes it run once more afterwards. */
function withoutNesting(work: () => void): () => void {
  let isRunning = false;
  let isWanted = false;
  return () => {
    isWanted = true;
    if (isRunning) return;
    isRunning = true;
    while (isWanted) {
      isWanted = false;
      work();
    }
    isRunning = false;
  };
}

export function createPool(input: {
  connections: number;
  shared: Shared;
  coalescer: Pick<TimerCoalescer, "every">;
  checkMs: number;
}): Pool {
  const { shared, coalescer, checkMs } = input;
  let most = input.connections;
  const all = new Set<Connection>();
  const idle = createIdleConnections(() => shared.now());
  const line: Wanted[] = [];
  let checkedAt = 0;
  let stopChecking: (() => void) | null = null;

  const connectingTo = (origin: Origin) => [...all].filter((one) => one.isConnecting && isOf(origin)(one)).length;
  const open = (origin: Origin) => {
    all.add(new Connection(origin, shared, owner));
    if (stopChecking !== null) return;
    checkedAt = shared.now();
    stopChecking = coalescer.every(checkMs, check);
  };
  /**
   * Serves the queue as far as there are connections. A call made meanwhile causes another round afterwards, never a nested
   * one.
   */
  const serve = withoutNesting(() => serveOnce());
  const serveOnce = () => {
    for (let at = 0; at < line.length;) {
      const wanted = line[at];
      if (wanted === undefined) return;
      const found = wanted.mustBeNew ? null : idle.take(wanted.origin);
      if (found === null) at++;
      else {
        line.splice(at, 1);
        wanted.use(found, { isNew: false });
      }
    }
    // Requests still in the queue get new connections, one each, as far as there may be more.
    const asked = new Map<string, number>();
    for (const { origin } of line) {
      const before = asked.get(origin.key) ?? 0;
      asked.set(origin.key, before + 1);
      if (connectingTo(origin) > before) continue;
      if (all.size >= most) idle.dropOldest();
      if (all.size >= most) return;
      open(origin);
    }
  };
  const owner = {
    onReady: (connection: Connection) => {
      const at = line.findIndex(isOf(connection.origin));
      const [wanted] = at === -1 ? [] : line.splice(at, 1);
      if (wanted === undefined) idle.add(connection);
      else wanted.use(connection, { isNew: true });
    },
    onFree: (connection: Connection) => {
      if (all.size > most || connection.isSurplus) {
        // A waiting request gets a new connection instead.
        connection.drop();
        return;
      }
      idle.add(connection);
      serve();
    },
    onGone: (connection: Connection, fault: Fault | null) => {
      all.delete(connection);
      idle.remove(connection);
      if (fault !== null) {
        // A connection made in advance may fail unseen; one that a request waits for may not.
        const waiting = line.filter(isOf(connection.origin)).length;
        const first = line.findIndex(isOf(connection.origin));
        if (waiting > connectingTo(connection.origin)) line.splice(first, 1)[0]?.fail(fault);
      }
      serve();
      if (all.size > 0) return;
      stopChecking?.();
      stopChecking = null;
    },
  };
  const check = () => {
    const now = shared.now();
    const lateMs = now - checkedAt - checkMs;
    checkedAt = now;
    idle.dropExpired(now);
    for (const one of all) one.check(lateMs > checkMs ? lateMs : 0);
  };
  return {
    acquire: (wanted) => {
      line.push(wanted);
      serve();
      return () => {
        const at = line.indexOf(wanted);
        if (at !== -1) line.splice(at, 1);
      };
    },
    warm: (origin, count) => {
      const have = [...all].filter(isOf(origin)).length;
      for (let more = Math.min(count - have, most - all.size); more > 0; more--) open(origin);
    },
    setConnections: (count) => {
      most = Math.max(1, count);
      shared.buffers.keep(most);
      while (all.size > most && idle.dropOldest());
      serve();
    },
    get grown() {
      return idle.grown;
    },
    get open() {
      return all.size;
    },
    close: () => {
      most = 0;
      for (const one of all) one.drop();
    },
  };
}
