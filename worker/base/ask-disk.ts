/**
 * Makes thousands of small calls to one disk. While the disk answers as fast as memory, a thread for each costs many times the
 * call itself, so most run on this thread. The first of each batch goes through a thread: a disk that hangs then blocks that
 * call, not the program. After a slow batch all calls go through threads for a while.
 */
export interface DiskCall<T, R> {
  /** State of this disk or folder; the caller keeps it between calls. */
  pace: DiskPace;
  now(item: T): R;
  later(item: T): Promise<R>;
}

export interface DiskPace {
  /** Number of calls that go through threads before this thread is tried again. */
  later: number;
}

const LOT = 64;
const SLOW_LOT_MS = 20;
const LATER = 256;

/**
 * Returns the answers in the order of the items. Rejects with the first error; other calls of that batch may have succeeded.
 */
export async function askDisk<T, R>(items: readonly T[], { pace, now, later }: DiskCall<T, R>): Promise<R[]> {
  const answers: R[] = [];
  while (answers.length < items.length) {
    const at = answers.length;
    if (pace.later > 0) {
      const some = items.slice(at, at + LOT);
      pace.later -= some.length;
      answers.push(...(await Promise.all(some.map(later))));
      continue;
    }
    const askedAt = performance.now();
    for (const scout of items.slice(at, at + 1)) answers.push(await later(scout));
    const startedAt = performance.now();
    if (startedAt - askedAt <= SLOW_LOT_MS) for (const item of items.slice(at + 1, at + LOT)) answers.push(now(item));
    if (performance.now() - startedAt > SLOW_LOT_MS || startedAt - askedAt > SLOW_LOT_MS) pace.later = LATER;
  }
  return answers;
}
