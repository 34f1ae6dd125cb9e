import type { Connection } from "./connection.ts";
import type { Origin } from "./socket/open-socket.ts";

/**
 * Connections that wait for a request. The one used last is used first, so that a few stay warm instead of many going stale.
 */
export interface IdleConnections {
  /** Removes and returns a connection to this origin that has not expired; null when there is none. Drops expired ones. */
  take(origin: Origin): Connection | null;
  add(connection: Connection): void;
  remove(connection: Connection): void;
  /** Drops expired connections. `now`: milliseconds, monotonic. */
  dropExpired(now: number): void;
  /** Drops the connection that was not used for longest. Returns whether there was one. */
  dropOldest(): boolean;
  /** Number of connections past their slow start. */
  readonly grown: number;
}

/** Creates an empty list. `now`: milliseconds, monotonic. */
export function createIdleConnections(now: () => number): IdleConnections {
  /** In the order of their last use, the latest at the end. */
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
