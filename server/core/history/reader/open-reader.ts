import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { Fault } from "#protocol/faults/fault.ts";
import type { Answers, Question, Reply } from "./messages.ts";

/** The thread that reads history, as the hub sees it. It starts with the first question, if not before. */
export interface HistoryReader {
  /** @throws Fault INTERNAL when it could not be read, SHUTTING_DOWN */
  ask<T extends Question>(question: T): Promise<Answers[T["op"]]>;
  /** Starts the thread before anybody waits for it. */
  start(): void;
  /** Waits for what was asked. */
  close(): Promise<void>;
}

interface Waiting {
  resolve: (answer: never) => void;
  reject: (fault: Fault) => void;
}

/** `url`: of the database. */
export function openReader(url: string): HistoryReader {
  const waiting = new Map<number, Waiting>();
  let lastId = 0;
  let thread: Worker | null = null;
  let isClosed = false;
  const failAll = (cause: unknown) => {
    for (const { reject } of waiting.values()) reject(new Fault("INTERNAL", { op: "read history", cause }));
    waiting.clear();
  };
  const launch = (): Worker => {
    const made = new Worker(new URL("./main.ts", import.meta.url), { workerData: url, name: "history" });
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
      if (thread === made) thread = null;
      failAll(new Error("the thread has ended"));
    });
    return made;
  };
  return {
    start: () => void (thread ??= launch()),
    ask: (question) => {
      if (isClosed) return Promise.reject(new Fault("SHUTTING_DOWN"));
      const asked = (thread ??= launch());
      asked.ref();
      const id = ++lastId;
      return new Promise((resolve, reject) => {
        waiting.set(id, { resolve, reject });
        asked.postMessage({ id, question });
      });
    },
    close: async () => {
      isClosed = true;
      const ending = thread;
      if (ending === null) return;
      const ended = once(ending, "exit");
      ending.ref();
      ending.postMessage("end");
      await ended;
    },
  };
}
