import { OWN_ENGINE, type Measured } from "#protocol/wire/measured.ts";
import type { Engine } from "../engine.ts";
import type { ProgressCounters } from "./transfer-progress.ts";

const MOST_RTT_MS = 600_000;

/** Returns the measurements of a transfer for the hub's history of links; null when nothing moved. */
export function measuredOf(
  counters: Pick<ProgressCounters, "pace" | "partsTotal"> | null,
  about: { engine: Pick<Engine, "httpClient"> | null; partBytes: number | null },
): Measured | null {
  const pace = counters?.pace() ?? null;
  if (counters === null || pace === null) return null;
  const { sentBytes, tookMs, steady, burst } = pace;
  const rttMs = about.engine?.httpClient.rttMs() ?? null;
  return {
    engine: OWN_ENGINE,
    tookMs,
    sentBytes,
    steadyBytesPerSecond: steady?.bytesPerSecond ?? null,
    rampMs: steady?.rampMs ?? null,
    isSteady: steady?.isSteady ?? false,
    parts: counters.partsTotal,
    partBytes: about.partBytes,
    burst,
    rttMs: rttMs === null ? null : Math.min(MOST_RTT_MS, rttMs),
  };
}
