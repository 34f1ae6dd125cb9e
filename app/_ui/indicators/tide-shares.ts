/** Three amounts in the same unit. */
export interface Tide {
  safe: number;
  moving: number;
  waiting: number;
}

/** Smallest share of a nonzero amount, so that it is never invisible. */
const LEAST = 0.05;

/** Returns shares of the gauge's width that add up to 1; three zeros when all amounts are zero. */
export function tideShares(tide: Tide): Tide {
  const safe = Math.max(0, tide.safe);
  const moving = Math.max(0, tide.moving);
  const waiting = Math.max(0, tide.waiting);
  const total = safe + moving + waiting;
  if (total === 0) return { safe: 0, moving: 0, waiting: 0 };
  const least = (amount: number): number => (amount === 0 ? 0 : Math.max(LEAST, amount / total));
  const sum = least(safe) + least(moving) + least(waiting);
  return { safe: least(safe) / sum, moving: least(moving) / sum, waiting: least(waiting) / sum };
}
