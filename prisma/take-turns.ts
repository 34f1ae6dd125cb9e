import type { SqlDriverAdapter, Transaction } from "@prisma/driver-adapter-utils";

/**
 * Lets callers take turns at a connection, which runs one statement or one transaction at a time. The adapter of Prisma serves
 * in order of arrival, so a caller with a thousand statements would delay everybody else by all of them.
 */
export interface Turns {
  /** Runs `work` when it is its caller's turn. */
  run<T>(work: () => Promise<T>): Promise<T>;
}

/** Returns an adapter whose statements and transactions wait for their turn. */
export function inTurns(adapter: SqlDriverAdapter, turns: Turns): SqlDriverAdapter {
  const { provider, adapterName } = adapter;
  return {
    provider,
    adapterName,
    queryRaw: (query) => turns.run(() => adapter.queryRaw(query)),
    executeRaw: (query) => turns.run(() => adapter.executeRaw(query)),
    executeScript: (script) => turns.run(() => adapter.executeScript(script)),
    startTransaction: (level) => begin(turns, () => adapter.startTransaction(level)),
    dispose: () => adapter.dispose(),
  };
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
  const { provider, adapterName, options } = transaction;
  return {
    provider,
    adapterName,
    options,
    queryRaw: (query) => transaction.queryRaw(query),
    executeRaw: (query) => transaction.executeRaw(query),
    commit: () => transaction.commit().finally(onEnd),
    rollback: () => transaction.rollback().finally(onEnd),
    createSavepoint: (name) => transaction.createSavepoint?.(name) ?? Promise.resolve(),
    rollbackToSavepoint: (name) => transaction.rollbackToSavepoint?.(name) ?? Promise.resolve(),
    releaseSavepoint: (name) => transaction.releaseSavepoint?.(name) ?? Promise.resolve(),
  };
}
