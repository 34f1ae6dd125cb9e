import type { LinkThresholds } from "#protocol/links/probe.ts";
import type { Config } from "../command-line/config.ts";

/** Options of a probe. */
export interface ProbeOptions {
  thresholds: LinkThresholds;
  /** Duration of each direction's measurement. */
  boxMs: number;
  mostAttempts: number;
}

/** Reads the flags. @throws Fault BAD_INPUT */
export const readProbeOptions = (config: Config): ProbeOptions => ({
  thresholds: { up: config.rate("min-up"), down: config.rate("min-down"), rttMs: config.durationMs("max-rtt") || null },
  boxMs: config.durationMs("probe-time"),
  mostAttempts: config.count("attempts"),
});
