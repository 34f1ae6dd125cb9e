import { once } from "node:events";
import { Worker } from "node:worker_threads";
import type { SqlClient, StatementClient } from "./connection.ts";
import type { DatabaseQuestion, DatabaseReply, DatabaseResult, SqlValue } from "./database-messages.ts";

/**
 * A connection to SQLite in a thread of its own. The library returns promises but runs each statement synchronously. A
 * commit waits for the disk, up to a second on a busy machine, and the hub's event loop must not wait with it.
 */
export interface ThreadClient {
  client: StatementClient;
  /** Resolves when the connection is closed and the thread has ended. */
  ended: Promise<void>;
}

type ResultSet = Awaited<ReturnType<SqlClient["execute"]>>;
type Row = ResultSet["rows"][number];

/** Returns a prototype that adds column names to an array of cells. Duplicate names refer to the first such column. */
function namesOf(columns: readonly string[]): object {
  const names: PropertyDescriptorMap = {};
  for (const [index, column] of columns.entries()) {
    if (Object.hasOwn(names, column)) continue;
    names[column] = {
      get(this: SqlValue[]) {
        return this[index];
      },
    };
  }
  return Object.create(Array.prototype, names) as object;
}

function resultOf(answer: DatabaseResult): ResultSet {
  const { columns, columnTypes, rowsAffected, lastInsertRowid } = answer;
  const names = namesOf(columns);
  const rows = answer.rows.map((cells) => Object.setPrototypeOf(cells, names) as Row);
  const result = { columns, columnTypes, rows, rowsAffected, lastInsertRowid };
  return { ...result, toJSON: () => result };
}

interface Waiting {
  resolve: (result: DatabaseResult | null) => void;
  reject: (error: Error) => void;
}

type Question = Exclude<DatabaseQuestion, { op: "close" }>;
type Unnumbered = Question extends infer One ? (One extends Question ? Omit<One, "id"> : never) : never;

/** Opens `url` (`file:/path`) in a thread. If the thread ends unexpectedly, the process ends: its state cannot be trusted. */
export function openThreadClient(url: string): ThreadClient {
  const waiting = new Map<number, Waiting>();
  let lastId = 0;
  let isClosed = false;
  const thread = new Worker(new URL("./database-thread.ts", import.meta.url), { workerData: url, name: "database" });
  const failAll = (error: Error) => {
    for (const { reject } of waiting.values()) reject(error);
    waiting.clear();
  };
  thread.on("message", (reply: DatabaseReply) => {
    const call = waiting.get(reply.id);
    waiting.delete(reply.id);
    if ("error" in reply) call?.reject(Object.assign(new Error(reply.error.message), reply.error));
    else call?.resolve(reply.result);
  });
  const ended = once(thread, "exit").then(() => {
    const error = new Error("the connection to the database was closed");
    failAll(error);
    if (!isClosed) throw error;
  });
  const ask = async (question: Unnumbered): Promise<DatabaseResult | null> => {
    if (isClosed) throw Object.assign(new Error("CLIENT_CLOSED: The client is closed"), { code: "CLIENT_CLOSED" });
    const id = ++lastId;
    return new Promise((resolve, reject) => {
      waiting.set(id, { resolve, reject });
      try {
        thread.postMessage({ id, ...question } satisfies Question);
      } catch (error) {
        // SQLite could not take an argument that a message between threads cannot hold.
        waiting.delete(id);
        reject(error instanceof Error ? error : new Error(String(error)));
      }
    });
  };
  return {
    ended,
    client: {
      protocol: "file",
      get closed() {
        return isClosed;
      },
      execute: async (statement) => {
        const { sql, args = [] } = typeof statement === "string" ? { sql: statement } : statement;
        const answer = await ask({ op: "execute", sql, args });
        if (answer === null) throw new Error("a statement was answered as a script");
        return resultOf(answer);
      },
      executeMultiple: async (sql) => void (await ask({ op: "script", sql })),
      close: () => {
        if (isClosed) return;
        isClosed = true;
        thread.postMessage({ op: "close" } satisfies DatabaseQuestion);
      },
    },
  };
}
