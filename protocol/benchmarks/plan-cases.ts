import { randomFrom } from "../base/random-from.ts";
import { engineSpec, type BenchDirection, type EngineName } from "./engines.ts";

/** One transfer of a benchmark. */
export interface BenchCase {
  engine: EngineName;
  direction: BenchDirection;
  /** From 1. */
  round: number;
}

/** What is to be compared. */
export interface BenchMatrix {
  engines: readonly EngineName[];
  directions: readonly BenchDirection[];
  rounds: number;
  /** Decides the order. */
  seed: number;
}

/**
 * All cases in an order that the seed decides, so that a slow minute of the link meets no engine more than another. What
 * an engine cannot do (aria2c sends nothing) is no case.
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

/** Fisher and Yates. */
export function shuffle<T>(items: readonly T[], random: () => number): T[] {
  const left = [...items];
  const taken: T[] = [];
  while (left.length > 0) taken.push(...left.splice(Math.floor(random() * left.length), 1));
  return taken;
}
