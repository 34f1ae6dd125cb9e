import { randomFrom } from "../base/random-from.ts";
import { engineSpec, type BenchDirection, type EngineName } from "./engines.ts";

/** One transfer of a benchmark: an engine, a direction and a round. */
export interface BenchCase {
  engine: EngineName;
  direction: BenchDirection;
  /** Starts at 1. */
  round: number;
}

/** Engines, directions and rounds to compare. */
export interface BenchMatrix {
  engines: readonly EngineName[];
  directions: readonly BenchDirection[];
  rounds: number;
  /** Determines the order. */
  seed: number;
}

/**
 * Returns all cases in an order that the seed determines, so that a slow minute of the link hits no engine more than
 * another. Leaves out what an engine cannot do (aria2c cannot upload).
 */
export function planCases(matrix: BenchMatrix): BenchCase[] {
  const { engines, directions, rounds, seed } = matrix;
  const cases = Array.from({ length: rounds }, (_, index) => index + 1).flatMap((round) =>
    engines.flatMap((engine) =>
      directions
        .filter((direction) => engineSpec(engine).directions.includes(direction))
        .map((direction): BenchCase => ({ engine, direction, round })),
    ),
  );
  return shuffle(cases, randomFrom(seed));
}

/** Returns the items in random order (Fisher-Yates). */
export function shuffle<T>(items: readonly T[], random: () => number): T[] {
  const left = [...items];
  const taken: T[] = [];
  while (left.length > 0) taken.push(...left.splice(Math.floor(random() * left.length), 1));
  return taken;
}
