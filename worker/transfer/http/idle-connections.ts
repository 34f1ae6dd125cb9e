import type { Connection } from "./connection.ts";
import type { Origin } from "./socket/open-socket.ts";

/** Connections that wait for a request. The one used last is used first, so that few stay warm instead of many going stale. */
export interface IdleConnections {
  /** Returns one to this origin that has not expired, and removes it; null when there is none. Drops those that have. */
  take(origin: Origin): Connection | null;
  add(connection: Connection): void;
  remove(connection: Connection): void;
  /** Drops those that have expired. `now`: milliseconds, monotonic. */
  dropExpired(now: number): void;
  /** Drops the one that was not used for longest. Returns whether there was one. */
  dropOldest(): boolean;
  /** Those that are past their slow start. */
  readonly grown: number;
}

/** Creates an empty list. `now`: milliseconds, monotonic. */
export function createIdleConnections(now: () => number): IdleConnections {
  /** The one used last is at the end. */
  const idle: Connection[] = [];
  return {
    get grown() {
      return idle.filter((one) => one.isGrown).length;
    },
    take: (origin) => {
      for (let at = idle.length - 1; at >= 0; at--) {
        const one = idle[at];
        if (one === undefined || one.origin.key !== origin.key) continue;
        idle.splice(at, 1);
        if (one.idleUntil > now()) return one;
        one.drop();
      }
      return null;
    },
    add: (connection) => {
      idle.push(connection);
    },
    remove: (connection) => {
      const at = idle.indexOf(connection);
      if (at !== -1) idle.splice(at, 1);
    },
    dropExpired: (at) => {
      for (const one of idle.filter(({ idleUntil }) => idleUntil <= at)) one.drop();
    },
    dropOldest: () => {
      const [oldest] = idle;
      oldest?.drop();
      return oldest !== undefined;
    },
  };
}
