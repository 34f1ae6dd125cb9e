/**
 * Runs `work` for every item, at most `width` at a time, in order. Waits for those under way when one fails, and then
 * throws the first failure: what the others acknowledge in the meantime is kept.
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
