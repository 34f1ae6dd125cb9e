/** Returns a function that runs at most so many tasks at once, the others in the order of their calls. */
export function createLane(mostAtOnce: number): <T>(task: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (task) => {
    if (running >= mostAtOnce) await new Promise<void>((begin) => waiting.push(begin));
    else running++;
    try {
      return await task();
    } finally {
      // Hands the place to the next waiting call, or frees it.
      const next = waiting.shift();
      if (next === undefined) running--;
      else next();
    }
  };
}
