/** Looks at known candidates take a fiftieth of the time at most, and are put off no longer than `MOST_REST_MS`. */
const REST_PER_LOOK = 50;
const MOST_REST_MS = 60_000;

/** Lets known and reported candidates rest for a while: a look at ten thousand files takes a tenth of a second. */
export interface Rests {
  isResting(path: string): boolean;
  /** Lets a candidate rest, by how long the look at it took. */
  rest(path: string, tookMs: number): void;
  /** Forgets candidates that do not exist any more. */
  keepOnly(paths: readonly string[]): void;
}

export function createRests(now: () => number): Rests {
  const until = new Map<string, number>();
  return {
    isResting: (path) => (until.get(path) ?? -Infinity) > now(),
    rest: (path, tookMs) => {
      until.set(path, now() + Math.min(MOST_REST_MS, tookMs * REST_PER_LOOK));
    },
    keepOnly: (paths) => {
      const there = new Set(paths);
      for (const path of until.keys()) if (!there.has(path)) until.delete(path);
    },
  };
}
