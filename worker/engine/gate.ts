import { reasonOf, throwIfAborted } from "./clock.ts";

/** At most `size` holders at a time; the others wait in line. One gate per direction is what bounds connections and memory. */
export interface Gate {
  run<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T>;
  readonly held: number;
}

export function createGate(size: number): Gate {
  let held = 0;
  const line: (() => void)[] = [];

  const enter = (signal: AbortSignal) =>
    new Promise<void>((resolve, reject) => {
      if (held < size) {
        held++;
        resolve();
        return;
      }
      const go = () => {
        signal.removeEventListener("abort", leave);
        resolve();
      };
      const leave = () => {
        const place = line.indexOf(go);
        if (place >= 0) line.splice(place, 1);
        reject(reasonOf(signal));
      };
      line.push(go);
      signal.addEventListener("abort", leave, { once: true });
    });
  const exit = () => {
    const next = line.shift();
    if (next === undefined) held--;
    else next();
  };
  return {
    get held() {
      return held;
    },
    run: async (signal, work) => {
      throwIfAborted(signal);
      await enter(signal);
      try {
        return await work();
      } finally {
        exit();
      }
    },
  };
}

/**
 * Runs `work` for every item, at most `width` at a time, in order. Waits for those under way when one fails, and then
 * throws the first failure: what the others acknowledge in the meantime is kept.
 */
export async function forEachOf<T>(
  items: readonly T[],
  width: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  let next = 0;
  const failures: unknown[] = [];
  const lane = async () => {
    while (next < items.length && failures.length === 0) {
      const item = items[next++];
      if (item === undefined) continue;
      try {
        await work(item);
      } catch (error) {
        failures.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(width, items.length) }, lane));
  if (failures.length > 0) throw failures[0];
}
