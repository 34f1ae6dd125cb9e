/** Cuts history into UTC minutes, hours and days, each named by its number since 1970. Nodes are stored by shelves of 64. */
export const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;
export const DAY_MS = 86_400_000;

/** The level of a row of histograms. */
export const LEVELS = { minute: 0, hour: 1, day: 2 } as const;
export type Level = keyof typeof LEVELS;
export const STRETCH_MS: Readonly<Record<Level, number>> = { minute: MINUTE_MS, hour: HOUR_MS, day: DAY_MS };
export const HOURS_A_DAY = 24;

const NODES_ON_A_SHELF = 64;
/** Shelf 0 holds the values of all nodes together. */
export const WHOLE_SHELF = 0;
/** Returns the shelf of a node by the node's number (from 1). */
export const shelfOf = (node: number): number => Math.floor((node - 1) / NODES_ON_A_SHELF) + 1;
