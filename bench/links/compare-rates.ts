import type { BenchDirection, EngineName } from "#protocol/benchmarks/engines.ts";
import type { EmulatedNode, StoreName } from "./emulated-fleet.ts";
import { STORES } from "./emulated-fleet.ts";
import type { ExportedCase } from "./exported-cases.ts";

/**
 * What a benchmark says of each link beside what that link allows. The truth is plain TCP: the same bytes over as many
 * fresh connections through the very same emulated link, with nothing on top, the fastest of its rounds, and the round trips
 * which S3 asks for besides. So slow start, queues and loss are in it, and the engine that is measured is not.
 */

/** Of each IP packet of 1500 bytes, headers and timestamps of TCP leave so much to data. */
export const PAYLOAD_SHARE = 0.965;
/** What is told may differ from the truth by this share. */
export const TOLERANCE = 0.1;
/** Beyond the round trip of its own that a handshake takes on a busy machine. */
const RTT_SLACK_MS = 5;

/**
 * Round trips that plain TCP does without. Up: to connect and begin the upload before any part can go, and to complete it.
 * Down: to connect and ask for the object's length.
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
  /** The best case of the benchmark, and whose it was. */
  engine: EngineName;
  toldMbit: number;
  truthMbit: number;
  /** Told by truth. */
  share: number;
  /** Told by what the link leaves to data when it is full all the time. */
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

/** Every link that has a case which did not fail, both ways. A link without plain TCP to compare with is left out. */
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

/** The round trip that each turn found beside the emulated one. */
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
