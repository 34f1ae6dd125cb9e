/**
 * Runs `work` for every item in order, at most `width` at a time. After a failure it starts no further item, waits for the
 * running ones so that their results are kept, and throws the first failure.
 */
export async function forEachOf<T>(items: Iterable<T>, width: number, work: (item: T) => Promise<void>): Promise<void> {
  const rest = items[Symbol.iterator]();
  let isOver = false;
  const failures: unknown[] = [];
  const lane = async () => {
    while (!isOver && failures.length === 0) {
      try {
        const next = rest.next();
        if (next.done === true) isOver = true;
        else await work(next.value);
      } catch (error) {
        failures.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: width }, lane));
  if (failures.length > 0) throw failures[0];
}
