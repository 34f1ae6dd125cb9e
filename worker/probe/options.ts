import type { LinkThresholds } from "#protocol/links/probe.ts";
import type { Config } from "../command-line/config.ts";

/** What the flags say of a probe. */
export interface ProbeWishes {
  thresholds: LinkThresholds;
  /** Of each direction. */
  boxMs: number;
  mostAttempts: number;
}

/** @throws Fault BAD_INPUT */
export const readProbeWishes = (config: Config): ProbeWishes => ({
  thresholds: { up: config.rate("min-up"), down: config.rate("min-down"), rttMs: config.durationMs("max-rtt") || null },
  boxMs: config.durationMs("probe-time"),
  mostAttempts: config.count("attempts"),
});
