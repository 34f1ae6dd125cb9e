import type { LinkThresholds } from "#protocol/links/probe.ts";

/** Returns the thresholds of a link: each from this worker's flag, else from its hub. Older hubs have none. */
export const askedOf = (own: LinkThresholds, ofHub: LinkThresholds | undefined): LinkThresholds => ({
  up: own.up ?? ofHub?.up ?? null,
  down: own.down ?? ofHub?.down ?? null,
  rttMs: own.rttMs ?? ofHub?.rttMs ?? null,
});

export const isNothing = ({ up, down, rttMs }: LinkThresholds): boolean =>
  up === null && down === null && rttMs === null;
