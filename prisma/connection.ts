import { setImmediate } from "node:timers/promises";
import { PrismaLibSql } from "@prisma/adapter-libsql";

/**
 * One SQLite connection for the whole process. The stock client opens a new connection after every transaction, and with
 * it loses what was set on the old one (foreign keys, synchronous, busy timeout). The adapter holds a lock from BEGIN to
 * COMMIT, so one connection is enough and its settings hold for good.
 */

export type SqlClient = ReturnType<PrismaLibSql["createClient"]>;
type SqlTransaction = Awaited<ReturnType<SqlClient["transaction"]>>;

type ResultSet = Awaited<ReturnType<SqlClient["execute"]>>;
type Statement = Exclude<Parameters<SqlTransaction["execute"]>[0], string>;

/** What this module asks of a connection, wherever its statements run. */
export interface StatementClient {
  execute(statement: Statement | string): Promise<ResultSet>;
  executeMultiple(sql: string): Promise<void>;
  close(): void;
  readonly closed: boolean;
  readonly protocol: string;
}

/** WAL so that readers never wait; synchronous FULL so that what was acknowledged survives a power cut. */
const SETTINGS = [
  "PRAGMA busy_timeout = 5000",
  "PRAGMA journal_mode = WAL",
  "PRAGMA synchronous = FULL",
  "PRAGMA foreign_keys = ON",
  "PRAGMA secure_delete = ON",
  // A reader that stayed long lets the log grow; when it has left, the file shrinks to this.
  `PRAGMA journal_size_limit = ${64 * 1024 * 1024}`,
];

/**
 * Makes sums that cannot fail. SQLite refuses a sum that leaves 64 bits, and the library an answer with an integer that is no
 * exact number; either would cost every list that shows it. Numbers come from nodes, so sums are added up as floats, which is
 * exact up to 2^53, and end there.
 */
export const withSafeSums = (sql: string): string =>
  sql.includes("SUM(")
    ? sql.replaceAll(/\bSUM\(([^()]+)\)/g, `CAST(MIN(TOTAL($1), ${Number.MAX_SAFE_INTEGER}) AS INTEGER)`)
    : sql;

const LONGEST_HOLD_MS = 8;

/**
 * Lets the event loop turn before a statement when none of them did for a while. The library runs a statement at once and answers it
 * as a promise, so a hundred statements one after another hold the loop as one long one would.
 */
function createTurns(): () => Promise<void> {
  let turnedAt = performance.now();
  return async () => {
    if (performance.now() - turnedAt < LONGEST_HOLD_MS) return;
    await setImmediate();
    turnedAt = performance.now();
  };
}

/** Refuses what neither Prisma nor this product asks for. */
const notHere = (name: string): Promise<never> => Promise.reject(new Error(`${name} is not there on one connection`));

/** A client that runs everything, transactions included, on `inner`'s one connection. */
export function onOneConnection(
  inner: StatementClient,
  onWrite: (tookMs: number) => void = () => undefined,
): SqlClient {
  const turn = createTurns();
  const run = async (statement: Statement): Promise<ResultSet> => {
    await turn();
    return inner.execute({ ...statement, sql: withSafeSums(statement.sql) });
  };
  /** Writes outside of transactions are timed by themselves. */
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
        // A full disk may have ended it, and may not: one that stays open would refuse every transaction after it.
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

/** The adapter Prisma talks to, over a connection that was opened and set up before. */
export class OneConnectionAdapter extends PrismaLibSql {
  readonly #client: SqlClient;

  constructor(client: SqlClient) {
    super({ url: ":memory:" }, { timestampFormat: "unixepoch-ms" });
    this.#client = client;
  }

  override createClient(): SqlClient {
    return this.#client;
  }
}

/** Applies the settings of every connection. `onWrite` hears how long (ms) each write took. */
export async function settle(inner: StatementClient, onWrite?: (tookMs: number) => void): Promise<SqlClient> {
  const client = onOneConnection(inner, onWrite);
  for (const setting of SETTINGS) await client.execute(setting);
  return client;
}

/** Opens `url` (`file:/path` or `:memory:`) in this thread, which stands still during each statement. */
export const connect = (url: string, onWrite?: (tookMs: number) => void): Promise<SqlClient> =>
  settle(new PrismaLibSql({ url }).createClient({ url }), onWrite);
