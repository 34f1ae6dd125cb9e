import { NO_BUCKET, unpackMinute } from "#protocol/history/minute-bytes.ts";
import type { StoredRecord } from "./read-rows.ts";
import { addBucketToCell, addToCell, kindOf, type Cell } from "#protocol/history/roll-bytes.ts";

/**
 * Decides which values of a link count, and which as failures. Hourly rows and minutes not rolled up yet use the same rules.
 */

/** Returns the cell of a series and kind; null where the value does not count. */
export type Target = (series: number, kind: number) => Cell | null;

const LIVE_UP = kindOf("up", "live");
const LIVE_DOWN = kindOf("down", "live");
const LIVE_RTT = kindOf("rtt", "live");

/** Counts one stored minute of a shelf: each node's rates over the moments in which bytes moved, and its RTT. */
export function countMinute(body: Uint8Array, target: Target): void {
  for (const { series, rttMs, upBucket, downBucket } of unpackMinute(body)) {
    const up = upBucket === NO_BUCKET ? null : target(series, LIVE_UP);
    if (up !== null) addBucketToCell(up, upBucket);
    const down = downBucket === NO_BUCKET ? null : target(series, LIVE_DOWN);
    if (down !== null) addBucketToCell(down, downBucket);
    const rtt = rttMs === null ? null : target(series, LIVE_RTT);
    if (rtt !== null && rttMs !== null) addToCell(rtt, rttMs);
  }
}

/**
 * Counts a transfer by its steady rate, or by its effective rate where it was too short for a steady one. A failed transfer
 * counts as a failure, a canceled one as neither. A probe that could not measure a direction counts as a failure of that
 * direction.
 */
export function countRecord(record: StoredRecord, target: Target): void {
  const { series, kind, outcome, rttMs } = record;
  const source = kind === "probe" ? "probe" : "transfer";
  const count = (measure: "up" | "down" | "rtt", value: number | null, missing: "failed" | "absent") => {
    const cell = value === null && missing === "absent" ? null : target(series, kindOf(measure, source));
    if (cell === null) return;
    if (value === null) cell.failures++;
    else addToCell(cell, value);
  };
  count("rtt", rttMs, "absent");
  if (kind === "probe") {
    count("up", record.up, "failed");
    count("down", record.down, "failed");
    return;
  }
  const measure = kind === "upload" ? "up" : "down";
  if (outcome === "failed") count(measure, null, "failed");
  else if (outcome === "done") count(measure, record[measure] ?? record.effective, "absent");
}
