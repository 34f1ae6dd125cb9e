import { parentPort, workerData } from "node:worker_threads";
import { connect } from "#prisma/connection.ts";
import { DAY_OF, type OpenedReader } from "#prisma/sql-reader.ts";
import { lowerThread } from "#storage/checksums/lower-thread.ts";
import { advise } from "#server/features/advice/advise.ts";
import { sumTransfers } from "#server/core/history/reader/sum-transfers.ts";
import { condense, gather } from "#server/core/history/reader/gather.ts";
import type { Answers, Question, Reply } from "#server/core/api/ports/history-questions.ts";
import { readPercentiles, readSeries } from "#server/core/history/reader/read-percentiles.ts";
import { createSeriesTable } from "#server/core/history/reader/read-rows.ts";

/**
 * The worker thread that reads history, so that long reads do not delay other calls. Its own connection uses the same SQLite
 * library as the hub's: two copies of SQLite in one process would drop each other's locks. The connection is read-only.
 */

const port = parentPort;
if (port === null) throw new Error("this is a thread of the hub: start server/main.ts");
lowerThread();

async function open(address: string): Promise<OpenedReader> {
  if (!address.startsWith("file:")) {
    const { openPostgresReader } = await import("#prisma/postgres/open-reader.ts");
    return openPostgresReader(address);
  }
  const sqlite = await connect(address);
  await sqlite.execute("PRAGMA query_only = ON");
  return { client: sqlite, day: DAY_OF.sqlite, close: async () => sqlite.close() };
}

const { client, day, close } = await open(String(workerData));
const series = createSeriesTable(client);

function answer(question: Question): Promise<Answers[keyof Answers]> {
  switch (question.op) {
    case "gather":
      return gather(client, series, question);
    case "condense":
      return condense(client, question);
    case "percentiles":
      return readPercentiles(client, series, question);
    case "series":
      return readSeries(client, series, question);
    case "advise":
      return advise(client, series, question);
    case "sum-transfers":
      return sumTransfers(client, question, day);
  }
}

let turn = Promise.resolve();
port.on("message", (message: { id: number; question: Question } | "end") => {
  turn = turn.then(async () => {
    if (message === "end") {
      await close();
      port.close();
      return;
    }
    const { id } = message;
    const reply: Reply = await answer(message.question).then(
      (value) => ({ id, answer: value }),
      (error: unknown) => ({ id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
    );
    port.postMessage(reply);
  });
});
