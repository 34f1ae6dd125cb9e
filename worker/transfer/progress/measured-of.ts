import { OWN_ENGINE, type Measured } from "#protocol/wire/measured.ts";
import type { Engine } from "../engine.ts";
import type { Tally } from "./transfer-progress.ts";

const MOST_RTT_MS = 600_000;

/** Returns the measurements of a transfer for the hub's history of links; null when nothing moved. */
export function measuredOf(
  tally: Pick<Tally, "pace" | "partsTotal"> | null,
  about: { engine: Pick<Engine, "wire"> | null; partBytes: number | null },
): Measured | null {
  const pace = tally?.pace() ?? null;
  if (tally === null || pace === null) return null;
  const { sentBytes, tookMs, steady, burst } = pace;
  const rttMs = about.engine?.wire.rttMs() ?? null;
  return {
    engine: OWN_ENGINE,
    tookMs,
    sentBytes,
    steadyBytesPerSecond: steady?.bytesPerSecond ?? null,
    rampMs: steady?.rampMs ?? null,
    isSteady: steady?.isSteady ?? false,
    parts: tally.partsTotal,
    partBytes: about.partBytes,
    burst,
    rttMs: rttMs === null ? null : Math.min(MOST_RTT_MS, rttMs),
  };
}
