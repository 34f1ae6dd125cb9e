import type { BenchDirection, EngineName } from "#protocol/benchmarks/engines.ts";
import type { EmulatedNode, StoreName } from "./emulated-fleet.ts";
import { STORES } from "./emulated-fleet.ts";
import type { ExportedCase } from "./exported-cases.ts";

/**
 * Compares the result of a benchmark for each link with what that link allows. The reference is plain TCP: the same bytes over
 * as many new connections through the same emulated link, the fastest of its rounds, plus the round trips that S3 needs in
 * addition. So the reference includes slow start, queues and loss, but not the measured engine.
 */

/** Share of each IP packet of 1500 bytes that TCP headers and timestamps leave to data. */
export const PAYLOAD_SHARE = 0.965;
/** Largest difference between a reported value and its reference, as a share. */
export const TOLERANCE = 0.1;
/** Allowance for the time that a handshake takes on a busy machine beyond the round trip. */
const RTT_SLACK_MS = 5;

/**
 * Round trips that plain TCP does not need. Up: to connect, to create the upload before any part, and to complete it. Down: to
 * connect and to ask for the length of the object.
 */
export const STORE_ROUND_TRIPS: Readonly<Record<BenchDirection, number>> = { up: 3, down: 2 };

export interface RawRun {
  node: string;
  store: StoreName;
  direction: BenchDirection;
  seconds: number;
}

export interface RateCheck {
  node: string;
  store: StoreName;
  direction: BenchDirection;
  rttMs: number;
  lossPercent: number;
  linkMbit: number;
  /** Engine of the best case in the benchmark. */
  engine: EngineName;
  toldMbit: number;
  truthMbit: number;
  /** Reported rate divided by the reference. */
  share: number;
  /** Reported rate divided by what a full link leaves to data. */
  linkShare: number;
  agrees: boolean;
}

export interface RttCheck {
  node: string;
  store: StoreName;
  truthMs: number;
  toldMs: number;
  agrees: boolean;
}

const WAYS: readonly BenchDirection[] = ["up", "down"];

/** Compares every link with a case that succeeded, in both directions. Links without a plain TCP reference are left out. */
export function compareRates(
  rows: readonly ExportedCase[],
  about: { fleet: readonly EmulatedNode[]; raw: readonly RawRun[]; bytes: number },
): RateCheck[] {
  const { fleet, raw, bytes } = about;
  return fleet.flatMap(({ name, links }) =>
    STORES.flatMap((store) =>
      WAYS.flatMap((direction): RateCheck[] => {
        const best = bestOf(
          rows.filter((row) => row.node === name && row.store === store),
          direction,
        );
        const rawSeconds = raw
          .filter((run) => run.node === name && run.store === store && run.direction === direction)
          .map(({ seconds }) => seconds);
        if (best === null || rawSeconds.length === 0) return [];
        const link = links[store];
        const linkMbit = direction === "up" ? link.upMbit : link.downMbit;
        const truthSeconds = Math.min(...rawSeconds) + (STORE_ROUND_TRIPS[direction] * link.rttMs) / 1000;
        const truthMbit = (bytes * 8) / 1e6 / truthSeconds;
        const share = best.mbit / truthMbit;
        return [
          {
            node: name,
            store,
            direction,
            rttMs: link.rttMs,
            lossPercent: link.lossPercent,
            linkMbit,
            engine: best.engine,
            toldMbit: best.mbit,
            truthMbit,
            share,
            linkShare: best.mbit / (linkMbit * PAYLOAD_SHARE),
            agrees: Math.abs(share - 1) <= TOLERANCE,
          },
        ];
      }),
    ),
  );
}

function bestOf(rows: readonly ExportedCase[], direction: BenchDirection): { engine: EngineName; mbit: number } | null {
  let best: { engine: EngineName; mbit: number } | null = null;
  for (const row of rows) {
    if (row.direction !== direction || row.bytesPerSecond === null) continue;
    const mbit = (row.bytesPerSecond * 8) / 1e6;
    if (best === null || mbit > best.mbit) best = { engine: row.engine, mbit };
  }
  return best;
}

/** Compares the round trip that each turn measured with the emulated one. */
export function compareRtts(rows: readonly ExportedCase[], fleet: readonly EmulatedNode[]): RttCheck[] {
  return fleet.flatMap(({ name, links }) =>
    STORES.flatMap((store): RttCheck[] => {
      const toldMs = rows.find((row) => row.node === name && row.store === store)?.rttMs ?? null;
      if (toldMs === null) return [];
      const truthMs = links[store].rttMs;
      const agrees = Math.abs(toldMs - truthMs) <= Math.max(TOLERANCE * truthMs, RTT_SLACK_MS);
      return [{ node: name, store, truthMs, toldMs, agrees }];
    }),
  );
}
