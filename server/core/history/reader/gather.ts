import { mergeInto } from "#protocol/history/histogram.ts";
import type { SqlReader } from "#prisma/sql-reader.ts";
import { countMinute, countRecord } from "./count-values.ts";
import type { RolledShelf } from "../../api/ports/history-questions.ts";
import { lastShelf, readMinutes, readRecords, readRolls, type SeriesTable } from "./read-rows.ts";
import { cellFor, kindOfKey, packRoll, readRoll, seriesOfKey, type Cells } from "#protocol/history/roll-bytes.ts";
import { LEVELS, MINUTE_MS, shelfOf, WHOLE_SHELF } from "../stretch.ts";

/** Builds rows of histograms one shelf (64 nodes) at a time, which bounds memory. */

/** Returns the histograms of a range (epoch ms, whole minutes): one row per shelf, and one row of all nodes together. */
export async function gather(
  client: SqlReader,
  series: SeriesTable,
  range: { from: number; to: number },
): Promise<RolledShelf[]> {
  await series.refresh();
  const records = Map.groupBy(await readRecords(client, range.from, range.to), (record) =>
    shelfOf(series.rows.get(record.series)?.node ?? 0),
  );
  const minutes = [Math.floor(range.from / MINUTE_MS), Math.ceil(range.to / MINUTE_MS)] as const;
  const rolled: RolledShelf[] = [];
  const whole: Cells = new Map();
  const last = await lastShelf(client);
  for (let shelf = 1; shelf <= last; shelf++) {
    const own: Cells = new Map();
    const count = (cells: Cells, id: number) => (_: number, kind: number) => cellFor(cells, id, kind);
    for (const body of await readMinutes(client, { shelf, minutes })) {
      countMinute(body, (id, kind) => cellFor(own, id, kind));
    }
    for (const record of records.get(shelf) ?? []) countRecord(record, count(own, record.series));
    if (own.size === 0) continue;
    addToWhole(whole, own, series);
    rolled.push({ shelf, body: packRoll(own) });
  }
  if (whole.size > 0) rolled.push({ shelf: WHOLE_SHELF, body: packRoll(whole) });
  return rolled;
}

function addToWhole(whole: Cells, own: Cells, series: SeriesTable): void {
  for (const [key, { histogram, failures }] of own) {
    const wholeId = series.rows.get(seriesOfKey(key))?.wholeId;
    if (wholeId === undefined) continue;
    const cell = cellFor(whole, wholeId, kindOfKey(key));
    mergeInto(cell.histogram, histogram);
    cell.failures += failures;
  }
}

/** Merges the hourly rows of a range (hour numbers, end exclusive) into one row per shelf. */
export async function condense(client: SqlReader, hours: { from: number; to: number }): Promise<RolledShelf[]> {
  const rolled: RolledShelf[] = [];
  const last = await lastShelf(client);
  for (let shelf = WHOLE_SHELF; shelf <= last; shelf++) {
    const cells: Cells = new Map();
    const at = { level: LEVELS.hour, shelves: [shelf, shelf + 1], stretches: [hours.from, hours.to] } as const;
    for (const { body } of await readRolls(client, at)) readRoll(body, (id, kind) => cellFor(cells, id, kind));
    if (cells.size > 0) rolled.push({ shelf, body: packRoll(cells) });
  }
  return rolled;
}
