import { setImmediate } from "node:timers/promises";
import { PrismaLibSql } from "@prisma/adapter-libsql";
import type { SqlDriverAdapter } from "@prisma/driver-adapter-utils";
import { inTurns, type Turns } from "./take-turns.ts";

/**
 * Keeps one SQLite connection for the whole process. The stock client opens a new connection after every transaction and so
 * loses the settings of the old one (foreign keys, synchronous, busy timeout). The adapter holds a lock from BEGIN to
 * COMMIT, so one connection is enough and keeps its settings.
 */

export type SqlClient = ReturnType<PrismaLibSql["createClient"]>;
type SqlTransaction = Awaited<ReturnType<SqlClient["transaction"]>>;

type ResultSet = Awaited<ReturnType<SqlClient["execute"]>>;
type Statement = Exclude<Parameters<SqlTransaction["execute"]>[0], string>;

/** The calls that this module needs of a connection, in this thread or in another. */
export interface StatementClient {
  execute(statement: Statement | string): Promise<ResultSet>;
  executeMultiple(sql: string): Promise<void>;
  close(): void;
  readonly closed: boolean;
  readonly protocol: string;
}

/** WAL so that readers never wait; synchronous FULL so that acknowledged writes survive a power cut. */
const SETTINGS = [
  "PRAGMA busy_timeout = 5000",
  "PRAGMA journal_mode = WAL",
  "PRAGMA synchronous = FULL",
  "PRAGMA foreign_keys = ON",
  "PRAGMA secure_delete = ON",
  // A long-running reader lets the write-ahead log grow; the checkpoint after it truncates the file to this size.
  `PRAGMA journal_size_limit = ${64 * 1024 * 1024}`,
];

/**
 * Rewrites SUM so that it cannot fail. SQLite raises an error when an integer sum overflows 64 bits, and the library rejects
 * integers above 2^53; either error would fail the whole list. Nodes supply the numbers, so TOTAL adds them as floats (exact
 * up to 2^53) and the result is capped there.
 */
export const withSafeSums = (sql: string): string =>
  sql.includes("SUM(")
    ? sql.replaceAll(/\bSUM\(([^()]+)\)/g, `CAST(MIN(TOTAL($1), ${Number.MAX_SAFE_INTEGER}) AS INTEGER)`)
    : sql;

const LONGEST_HOLD_MS = 8;

/**
 * Yields to the event loop before a statement when no statement has done so for a while. The library runs each statement
 * synchronously behind its promise, so a hundred statements in sequence would block the loop as one long one does.
 */
function createLoopYielder(): () => Promise<void> {
  let turnedAt = performance.now();
  return async () => {
    if (performance.now() - turnedAt < LONGEST_HOLD_MS) return;
    await setImmediate();
    turnedAt = performance.now();
  };
}

/** Rejects the calls that neither Prisma nor this product makes. */
const notHere = (name: string): Promise<never> => Promise.reject(new Error(`${name} is not there on one connection`));

/** Returns a client that runs everything, transactions included, on `inner`'s single connection. */
export function onOneConnection(
  inner: StatementClient,
  onWrite: (tookMs: number) => void = () => undefined,
): SqlClient {
  const turn = createLoopYielder();
  const run = async (statement: Statement): Promise<ResultSet> => {
    await turn();
    return inner.execute({ ...statement, sql: withSafeSums(statement.sql) });
  };
  /** Times a write outside of a transaction as a write of its own. */
  const execute = async (statement: Statement) => {
    const { sql } = statement;
    if (!/^\s*(INSERT|UPDATE|DELETE)\b/i.test(sql)) return run(statement);
    const startedAt = performance.now();
    const result = await run(statement);
    onWrite(performance.now() - startedAt);
    return result;
  };
  const begin = async (): Promise<SqlTransaction> => {
    const startedAt = performance.now();
    await inner.execute("BEGIN IMMEDIATE");
    let open = true;
    const end = async (sql: "COMMIT" | "ROLLBACK"): Promise<void> => {
      if (!open) return;
      open = false;
      try {
        await inner.execute(sql);
      } catch (error) {
        // A failed COMMIT, on a full disk for instance, may leave the transaction open, which would block every later one.
        await inner.execute("ROLLBACK").catch(() => undefined);
        if (sql === "COMMIT") throw error;
      }
      onWrite(performance.now() - startedAt);
    };
    return {
      execute: (statement: Parameters<SqlTransaction["execute"]>[0]) =>
        run(typeof statement === "string" ? { sql: statement } : statement),
      batch: async (statements) => {
        const results = [];
        for (const statement of statements)
          results.push(await run(typeof statement === "string" ? { sql: statement } : statement));
        return results;
      },
      executeMultiple: (sql) => inner.executeMultiple(sql),
      commit: () => end("COMMIT"),
      rollback: () => end("ROLLBACK"),
      close: () => void end("ROLLBACK"),
      get closed() {
        return !open;
      },
    };
  };
  return {
    execute: (statement: string | Statement, args?: Statement["args"]) =>
      execute(typeof statement === "string" ? { sql: statement, args: args ?? [] } : statement),
    batch: () => notHere("batch"),
    migrate: () => notHere("migrate"),
    transaction: begin,
    executeMultiple: (sql) => inner.executeMultiple(sql),
    sync: () => notHere("sync"),
    reconnect: () => {
      throw new Error("reconnect is not there on one connection");
    },
    close: () => inner.close(),
    get closed() {
      return inner.closed;
    },
    get protocol() {
      return inner.protocol;
    },
  };
}

/**
 * Most values of one statement: SQLite's own limit (SQLITE_MAX_VARIABLE_NUMBER), and the one that Prisma assumes of
 * PostgreSQL. Where an adapter names none, Prisma refuses a count or an update with more than 999.
 */
const MOST_VALUES = 32_766;

/** Gives Prisma a connection that is already open and configured. `turns`: see `take-turns`. */
export class OneConnectionAdapter extends PrismaLibSql {
  readonly #client: SqlClient;
  readonly #turns: Turns | null;

  constructor(client: SqlClient, turns: Turns | null) {
    super({ url: ":memory:" }, { timestampFormat: "unixepoch-ms" });
    this.#client = client;
    this.#turns = turns;
  }

  override async connect(): Promise<SqlDriverAdapter> {
    const adapter: SqlDriverAdapter = Object.assign(await super.connect(), {
      getConnectionInfo: () => ({ maxBindValues: MOST_VALUES, supportsRelationJoins: false }),
    });
    return this.#turns === null ? adapter : inTurns(adapter, this.#turns);
  }

  override createClient(): SqlClient {
    return this.#client;
  }
}

/** Applies the settings that every connection needs. `onWrite` receives the duration (ms) of each write. */
export async function settle(inner: StatementClient, onWrite?: (tookMs: number) => void): Promise<SqlClient> {
  const client = onOneConnection(inner, onWrite);
  for (const setting of SETTINGS) await client.execute(setting);
  return client;
}

/** Opens `url` (`file:/path` or `:memory:`) in this thread; each statement blocks it. */
export const connect = (url: string, onWrite?: (tookMs: number) => void): Promise<SqlClient> =>
  settle(new PrismaLibSql({ url }).createClient({ url }), onWrite);
