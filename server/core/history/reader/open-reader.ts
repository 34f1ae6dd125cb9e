import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { Fault } from "#protocol/faults/fault.ts";
import type { Reply } from "../../api/ports/history-questions.ts";
import type { HistoryReader } from "../../api/ports/history.ts";

interface Waiting {
  resolve: (answer: never) => void;
  reject: (fault: Fault) => void;
}

/**
 * Returns a reader whose thread starts at the first question. `url` is the address of the database, `thread` the module that
 * the thread runs (`server/http/history-thread.ts`).
 */
export function openReader(url: string, thread: URL): HistoryReader {
  const waiting = new Map<number, Waiting>();
  let lastId = 0;
  let running: Worker | null = null;
  let isClosed = false;
  const failAll = (cause: unknown) => {
    for (const { reject } of waiting.values()) reject(new Fault("INTERNAL", { op: "read history", cause }));
    waiting.clear();
  };
  const launch = (): Worker => {
    const made = new Worker(thread, { workerData: url, name: "history" });
    made.unref();
    made.on("message", (reply: Reply) => {
      const call = waiting.get(reply.id);
      waiting.delete(reply.id);
      if (waiting.size === 0) made.unref();
      if ("error" in reply) call?.reject(new Fault("INTERNAL", { op: "read history", cause: new Error(reply.error) }));
      else call?.resolve(reply.answer as never);
    });
    made.on("error", failAll);
    made.on("exit", () => {
      if (running === made) running = null;
      failAll(new Error("the thread has ended"));
    });
    return made;
  };
  return {
    start: () => void (running ??= launch()),
    ask: (question) => {
      if (isClosed) return Promise.reject(new Fault("SHUTTING_DOWN"));
      const asked = (running ??= launch());
      asked.ref();
      const id = ++lastId;
      return new Promise((resolve, reject) => {
        waiting.set(id, { resolve, reject });
        asked.postMessage({ id, question });
      });
    },
    close: async () => {
      isClosed = true;
      const ending = running;
      if (ending === null) return;
      const ended = once(ending, "exit");
      ending.ref();
      ending.postMessage("end");
      await ended;
    },
  };
}
