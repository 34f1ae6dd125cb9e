import { AsyncLocalStorage } from "node:async_hooks";

/**
 * Shares the one connection between callers. Each caller has a queue of its own and the queues are served round-robin, so a
 * caller with a thousand statements waits for its own, and others come between them. A transaction is one turn: SQLite can
 * run nothing of others before it ends.
 */
export interface StatementTurns {
  /** Resolves when it is the turn of the present caller, with the function that ends the turn; calling it twice ends it once. */
  take(): Promise<() => void>;
}

const callers = new AsyncLocalStorage<string>();

/** Runs `work` so that the statements it asks for wait in the queue of `caller`. */
export const asCaller = <T>(caller: string, work: () => T): T => callers.run(caller, work);

/** Callers by this name are the hub itself: its clock and its jobs. */
const NOBODY = "";

export function createStatementTurns(): StatementTurns {
  /** Ordered by when each was served last. */
  const queues = new Map<string, (() => void)[]>();
  let isTaken = false;

  const startNext = (): void => {
    const next = queues.entries().next().value;
    isTaken = next !== undefined;
    if (next === undefined) return;
    const [caller, queue] = next;
    const start = queue.shift();
    queues.delete(caller);
    if (queue.length > 0) queues.set(caller, queue);
    start?.();
  };

  return {
    take: async () => {
      if (isTaken) {
        const caller = callers.getStore() ?? NOBODY;
        const { promise, resolve } = Promise.withResolvers<undefined>();
        const start = () => resolve(undefined);
        const queue = queues.get(caller);
        if (queue === undefined) queues.set(caller, [start]);
        else queue.push(start);
        await promise;
      }
      isTaken = true;
      let isOver = false;
      return () => {
        if (isOver) return;
        isOver = true;
        startNext();
      };
    },
  };
}
