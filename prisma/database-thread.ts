import { parentPort, workerData } from "node:worker_threads";
import { PrismaLibSql } from "@prisma/adapter-libsql";
import type { DatabaseError, DatabaseQuestion, DatabaseReply, DatabaseResult } from "./database-messages.ts";

/**
 * Runs the statements of one connection in order of arrival. Each statement blocks this thread until the disk answers; see
 * `thread-client.ts`.
 */

const port = parentPort;
if (port === null) throw new Error("this is a thread of the hub: start server/main.ts");
const url = String(workerData);
const client = new PrismaLibSql({ url }).createClient({ url });

async function run(question: Exclude<DatabaseQuestion, { op: "close" }>): Promise<DatabaseResult | null> {
  if (question.op === "script") {
    await client.executeMultiple(question.sql);
    return null;
  }
  // The two libraries declare the type of arguments differently (readonly or not).
  const args = question.args as Extract<Parameters<typeof client.execute>[0], { sql: string }>["args"];
  const { columns, columnTypes, rows, rowsAffected, lastInsertRowid } = await client.execute({
    sql: question.sql,
    args: args ?? [],
  });
  // The cells of a row are not enumerable, so a message would drop them.
  const cells = rows.map((row) => columns.map((_, index) => row[index] ?? null));
  return { columns, columnTypes, rows: cells, rowsAffected, lastInsertRowid };
}

function errorOf(error: unknown): DatabaseError {
  if (!(error instanceof Error))
    return { message: String(error), code: undefined, extendedCode: undefined, rawCode: undefined };
  const { code, extendedCode, rawCode } = error as Error & Partial<DatabaseError>;
  return { message: error.message, code, extendedCode, rawCode };
}

let turn = Promise.resolve();
port.on("message", (question: DatabaseQuestion) => {
  turn = turn.then(async () => {
    if (question.op === "close") {
      client.close();
      port.close();
      return;
    }
    const { id } = question;
    const reply: DatabaseReply = await run(question).then(
      (result) => ({ id, result }),
      (error: unknown) => ({ id, error: errorOf(error) }),
    );
    port.postMessage(reply);
  });
});
