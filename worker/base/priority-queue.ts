/** A binary heap: takes the first of its items by a comparison, in logarithmic time. */
export interface PriorityQueue<T> {
  add(item: T): void;
  /** Removes and returns the first item; undefined: it is empty. */
  take(): T | undefined;
}

/** `compare`: as for `sort`. Items that compare as equal are taken in any order. */
export function createPriorityQueue<T>(compare: (a: T, b: T) => number): PriorityQueue<T> {
  const items: T[] = [];
  /** Exchanges two items where the second belongs before the first. Returns whether it did. */
  const mend = (above: number, below: number): boolean => {
    const [a, b] = [items[above], items[below]];
    if (a === undefined || b === undefined || compare(a, b) <= 0) return false;
    items[above] = b;
    items[below] = a;
    return true;
  };
  const sink = () => {
    for (let at = 0; ;) {
      const [left, right] = [at * 2 + 1, at * 2 + 2];
      const [a, b] = [items[left], items[right]];
      const least = a !== undefined && b !== undefined && compare(b, a) < 0 ? right : left;
      if (!mend(at, least)) return;
      at = least;
    }
  };
  return {
    add: (item) => {
      let at = items.push(item) - 1;
      for (let above = (at - 1) >> 1; at > 0 && mend(above, at); above = (at - 1) >> 1) at = above;
    },
    take: () => {
      const [first] = items;
      const last = items.pop();
      if (items.length > 0 && last !== undefined) {
        items[0] = last;
        sink();
      }
      return first;
    },
  };
}
