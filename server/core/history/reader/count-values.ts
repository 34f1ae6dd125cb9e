import { NO_BUCKET, unpackMinute } from "#protocol/history/minute-bytes.ts";
import type { StoredRecord } from "./read-rows.ts";
import { addBucketToCell, addToCell, kindOf, type Cell } from "#protocol/history/roll-bytes.ts";

/** What counts as a value of a link, and what as a failure: the same for rows of hours and for what is not in rows yet. */

/** The cell of a series and kind; null where it does not count. */
export type Target = (series: number, kind: number) => Cell | null;

const LIVE_UP = kindOf("up", "live");
const LIVE_DOWN = kindOf("down", "live");
const LIVE_RTT = kindOf("rtt", "live");

/** A minute counts with the rate of the moments in which something moved. */
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
 * A transfer counts with its steady rate, or with its effective one where it was too short for that; one that failed is a
 * failure, one that was cancelled is neither. A probe that could not measure a direction failed in it.
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
