import type { SqlDriverAdapter, Transaction } from "@prisma/driver-adapter-utils";

/**
 * Lets callers take turns at a connection, which runs one statement or one transaction at a time. The adapter of Prisma serves
 * in order of arrival, so a caller with a thousand statements would delay everybody else by all of them.
 */
export interface Turns {
  /** Runs `work` when it is its caller's turn. */
  run<T>(work: () => Promise<T>): Promise<T>;
}

/** Makes the statements and transactions of an adapter wait for their turn. */
export function inTurns(adapter: SqlDriverAdapter, turns: Turns): SqlDriverAdapter {
  const queryRaw = adapter.queryRaw.bind(adapter);
  const executeRaw = adapter.executeRaw.bind(adapter);
  const executeScript = adapter.executeScript.bind(adapter);
  const startTransaction = adapter.startTransaction.bind(adapter);
  const own: Pick<SqlDriverAdapter, "queryRaw" | "executeRaw" | "executeScript" | "startTransaction"> = {
    queryRaw: (query) => turns.run(() => queryRaw(query)),
    executeRaw: (query) => turns.run(() => executeRaw(query)),
    executeScript: (script) => turns.run(() => executeScript(script)),
    startTransaction: (level) => begin(turns, () => startTransaction(level)),
  };
  return Object.assign(adapter, own);
}

/** Begins a transaction when it is its turn, and keeps the turn until the transaction has ended. */
async function begin(turns: Turns, start: () => Promise<Transaction>): Promise<Transaction> {
  const begun = Promise.withResolvers<Transaction>();
  const held = turns.run(async () => {
    const ended = Promise.withResolvers<undefined>();
    begun.resolve(endingWith(await start(), () => ended.resolve(undefined)));
    await ended.promise;
  });
  held.catch(begun.reject);
  return begun.promise;
}

/** Calls `onEnd` when the transaction is committed or rolled back, or that failed. */
function endingWith(transaction: Transaction, onEnd: () => void): Transaction {
  const commit = transaction.commit.bind(transaction);
  const rollback = transaction.rollback.bind(transaction);
  return Object.assign(transaction, {
    commit: () => commit().finally(onEnd),
    rollback: () => rollback().finally(onEnd),
  });
}
