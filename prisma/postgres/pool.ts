import { Fault } from "#protocol/faults/fault.ts";
import { Client, Pool, types, type ClientBase, type PoolConfig } from "pg";

/** Connections to PostgreSQL: their number, their time limits, and what is known about them. */

export interface PostgresPlace {
  /** `postgres://user:password@host:port/database`; a pooler in transaction mode may stand before it. */
  url: string;
  /** The same database without a pooler, for what needs one session: the hub's lock and changes of the schema. */
  directUrl: string;
  /** Most connections of the pool. */
  connections: number;
}

/** The connections of a hub now, for `/metrics`. */
export interface PoolRoom {
  most: number;
  open: number;
  idle: number;
  /** Statements and transactions that wait for a connection. */
  waiting: number;
}

/** Longer than any statement of the hub takes on a healthy database. */
export const STATEMENT_MS = 30_000;
const LOCK_MS = 15_000;
const IDLE_IN_TRANSACTION_MS = 60_000;
const CONNECT_MS = 10_000;
/** Longer than the server's own limit, so that this one decides only when the server or the network says nothing any more. */
const ANSWER_MS = STATEMENT_MS + 10_000;

/**
 * Time limits of the server. They are set by a statement, because a pooler refuses them as parameters of the connection. With
 * a pooler in transaction mode they stay with the server's connection, where they hold for every hub.
 */
const LIMITS = `SET statement_timeout = ${STATEMENT_MS}; SET lock_timeout = ${LOCK_MS}; SET idle_in_transaction_session_timeout = ${IDLE_IN_TRANSACTION_MS}`;

const BIGINT = 20;
const NUMERIC = 1_700;
const TIMESTAMP = 1_114;

const parserOf = types.getTypeParser as (oid: number, format?: "text" | "binary") => (text: string) => unknown;

/** Cells of rows that are read without Prisma: numbers as numbers and dates as epoch ms, as SQLite stores them. */
export const PLAIN_TYPES = {
  getTypeParser: (oid: number, format?: "text" | "binary"): ((text: string) => unknown) => {
    if (oid === BIGINT || oid === NUMERIC) return (text) => Math.min(Number(text), Number.MAX_SAFE_INTEGER);
    if (oid === TIMESTAMP) return (text) => Date.parse(`${text.replace(" ", "T")}Z`);
    return parserOf(oid, format);
  },
};

/** Codes of the system for an address that does not answer. */
const SILENT = /^(ECONN(REFUSED|RESET|ABORTED)|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|EPIPE)$/;

/**
 * Returns the fault for an error of the network, and any other error as it is. A name with several addresses fails with one error
 * for all, which the adapter does not know.
 */
export function toUnreachable(error: unknown): unknown {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  return SILENT.test(code) ? new Fault("DATABASE_UNREACHABLE", { cause: error }) : error;
}

const settingsOf = (url: string): PoolConfig => ({
  connectionString: url,
  application_name: "tidemark",
  connectionTimeoutMillis: CONNECT_MS,
  query_timeout: ANSWER_MS,
  keepAlive: true,
  keepAliveInitialDelayMillis: 10_000,
});

/**
 * Ends a connection whose answer did not come in time: it may lie behind a network that is gone, and the next caller would wait
 * behind the lost question.
 */
function endOnSilence(client: ClientBase & { end?: () => Promise<void> }): void {
  const query = client.query.bind(client) as (...parts: unknown[]) => unknown;
  Object.assign(client, {
    query: (...parts: unknown[]) => {
      const result = query(...parts);
      if (!(result instanceof Promise)) return result;
      return result.catch((error: unknown) => {
        if (error instanceof Error && error.message === "Query read timeout") void client.end?.();
        throw error;
      });
    },
  });
}

/** The pool waits for this before it hands a new connection out, although the type of the option does not say so. */
async function limit(client: ClientBase): Promise<void> {
  endOnSilence(client);
  await client.query(LIMITS);
}

/** Returns a pool whose connections have the hub's time limits. Opens none before the first statement. */
export function openPool({ url, connections }: PostgresPlace): Pool {
  const settings = { ...settingsOf(url), max: connections, idleTimeoutMillis: 30_000 };
  const pool = new Pool(Object.assign(settings, { onConnect: limit }));
  // A connection that breaks while it is idle is replaced by the next statement.
  pool.on("error", () => undefined);
  return pool;
}

/** Opens one connection of its own for work that may take an hour, without limits in time. @throws as `openSession` */
export async function openLongSession({ directUrl }: Pick<PostgresPlace, "directUrl">): Promise<Client> {
  const client = new Client({ ...settingsOf(directUrl), query_timeout: 0 });
  client.on("error", () => undefined);
  try {
    await client.connect();
    await client.query(
      `SET statement_timeout = 0; SET lock_timeout = ${LOCK_MS}; SET idle_in_transaction_session_timeout = 0`,
    );
    return client;
  } catch (error) {
    throw toUnreachable(error);
  }
}

/** Opens one connection of its own, without a pooler. `onLost` is called when it breaks. @throws Fault DATABASE_UNREACHABLE, errors of pg */
export async function openSession(
  { directUrl }: Pick<PostgresPlace, "directUrl">,
  onLost: (error: Error) => void = () => undefined,
): Promise<Client> {
  const client = new Client(settingsOf(directUrl));
  client.on("error", onLost);
  try {
    await client.connect();
    await client.query(LIMITS);
    return client;
  } catch (error) {
    throw toUnreachable(error);
  }
}

export const roomOf = (pool: Pool): PoolRoom => ({
  most: pool.options.max,
  open: pool.totalCount,
  idle: pool.idleCount,
  waiting: pool.waitingCount,
});
