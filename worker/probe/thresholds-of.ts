import type { LinkThresholds } from "#protocol/links/probe.ts";

/** What is asked of a link: each threshold by this worker's own flag, else by its hub. An older hub keeps none. */
export const askedOf = (own: LinkThresholds, ofHub: LinkThresholds | undefined): LinkThresholds => ({
  up: own.up ?? ofHub?.up ?? null,
  down: own.down ?? ofHub?.down ?? null,
  rttMs: own.rttMs ?? ofHub?.rttMs ?? null,
});

export const isNothing = ({ up, down, rttMs }: LinkThresholds): boolean =>
  up === null && down === null && rttMs === null;
