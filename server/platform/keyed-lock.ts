/** Runs tasks of the same key one after the other; tasks of different keys run concurrently. */
export interface KeyedLock {
  run<T>(key: string, task: () => Promise<T>): Promise<T>;
}

export function createKeyedLock(): KeyedLock {
  const tails = new Map<string, Promise<unknown>>();
  return {
    run: async (key, task) => {
      const before = tails.get(key) ?? Promise.resolve();
      const mine = before.then(task, task);
      const tail = mine.catch(() => undefined);
      tails.set(key, tail);
      try {
        return await mine;
      } finally {
        if (tails.get(key) === tail) tails.delete(key);
      }
    },
  };
}
