import { select, type Selection, type SuiteName } from "./test-files.ts";

/** Estimated seconds of a test file that was never measured, by suite. */
const GUESS: Readonly<Record<SuiteName, number>> = {
  unit: 0.3,
  conformance: 20,
  process: 20,
  faults: 120,
  browser: 20,
};
/** Number of test files that a suite runs in parallel. */
const LANES: Readonly<Record<SuiteName, number>> = { unit: 3, conformance: 2, process: 4, faults: 1, browser: 3 };

export interface NearOptions {
  /** Number of imports between each file and the nearest changed one. */
  distances: ReadonlyMap<string, number>;
  /** Seconds of each file in the last complete run. */
  seconds: Readonly<Record<string, number>>;
  budgetSeconds: number;
}

/** Chooses the nearest test files that fit into the budget, and lists those left out. Changed tests always run. */
export function chooseNear(
  all: Record<SuiteName, string[]>,
  { distances, seconds, budgetSeconds }: NearOptions,
): { selection: Selection; leftOut: string[] } {
  const suites = ["unit", "conformance", "process", "browser", "faults"] as const;
  const candidates = suites
    .flatMap((suite) =>
      all[suite].map((file) => ({
        file,
        distance: distances.get(file) ?? Infinity,
        cost: (seconds[file] ?? GUESS[suite]) / LANES[suite],
      })),
    )
    .filter(({ distance }) => distance < Infinity)
    .toSorted((a, b) => a.distance - b.distance || a.cost - b.cost);
  const chosen = new Set<string>();
  let spent = 0;
  for (const { file, distance, cost } of candidates) {
    if (distance > 0 && spent + cost > budgetSeconds) continue;
    chosen.add(file);
    spent += cost;
  }
  const leftOut = candidates.map(({ file }) => file).filter((file) => !chosen.has(file));
  return { selection: select(all, (file) => chosen.has(file)), leftOut };
}
