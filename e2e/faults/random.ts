import { randomFrom } from "#protocol/base/random-from.ts";

/** Chance that can be had again: the same seed gives the same numbers (mulberry32). */
export interface Random {
  /** From 0 up to 1. */
  next(): number;
  /** A whole number from `least` to `most`, both included. */
  whole(least: number, most: number): number;
  /** Throws when there is nothing to pick from. */
  pick<T>(items: readonly T[]): T;
  /** About `share` of the items, never none of them; in their order. */
  some<T>(items: readonly T[], share: number): T[];
}

export function createRandom(seed: number): Random {
  const next = randomFrom(seed);
  const whole = (least: number, most: number) => least + Math.floor(next() * (most - least + 1));
  return {
    next,
    whole,
    pick: (items) => {
      const at = whole(0, items.length - 1);
      const picked = items[at];
      if (picked === undefined) throw new Error(`nothing to pick from at ${at}`);
      return picked;
    },
    some: (items, share) => {
      const chosen = items.filter(() => next() < share);
      const spare = items[whole(0, items.length - 1)];
      return chosen.length > 0 || spare === undefined ? chosen : [spare];
    },
  };
}

/** A seed of its own for a name, so that two classes with one seed do not do the same. */
export function seedFrom(name: string, seed: number): number {
  let hash = 0x811c9dc5 ^ seed;
  for (const letter of name) hash = Math.imul(hash ^ (letter.codePointAt(0) ?? 0), 0x01000193) >>> 0;
  return hash;
}
