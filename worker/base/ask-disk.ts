/**
 * Thousands of small calls to one disk. Another thread for each costs many times the call itself while the disk answers as
 * fast as memory does, so most are made at once. One before each lot goes through a thread: a disk that does not answer holds
 * up that call and not the program. After a lot that took its time all go through threads for a while.
 */
export interface DiskCall<T, R> {
  /** What was seen of this disk, or of the folder that is asked about; kept between calls by whoever asks. */
  mood: DiskMood;
  now(item: T): R;
  later(item: T): Promise<R>;
}

export interface DiskMood {
  /** So many go through other threads before it is tried again. */
  later: number;
}

const LOT = 64;
const SLOW_LOT_MS = 20;
const LATER = 256;

/** The answers in the order of the items. Rejects with the first error; of the lot that it was in, others may have been done. */
export async function askDisk<T, R>(items: readonly T[], { mood, now, later }: DiskCall<T, R>): Promise<R[]> {
  const answers: R[] = [];
  while (answers.length < items.length) {
    const at = answers.length;
    if (mood.later > 0) {
      const some = items.slice(at, at + LOT);
      mood.later -= some.length;
      answers.push(...(await Promise.all(some.map(later))));
      continue;
    }
    const askedAt = performance.now();
    for (const scout of items.slice(at, at + 1)) answers.push(await later(scout));
    const startedAt = performance.now();
    if (startedAt - askedAt <= SLOW_LOT_MS) for (const item of items.slice(at + 1, at + LOT)) answers.push(now(item));
    if (performance.now() - startedAt > SLOW_LOT_MS || startedAt - askedAt > SLOW_LOT_MS) mood.later = LATER;
  }
  return answers;
}
