const SIDE_BY_SIDE = 8;

/** Runs `work` for each item, up to eight at once, and returns the results in the order of the items. The first fault rejects. */
export async function inTurn<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results = new Map<number, Result>();
  const waiting = items.entries();
  const one = async (): Promise<void> => {
    for (const [index, item] of waiting) results.set(index, await work(item));
  };
  await Promise.all(Array.from({ length: Math.min(SIDE_BY_SIDE, items.length) }, one));
  return [...results].sort(([a], [b]) => a - b).map(([, result]) => result);
}
