import { clearHistogram, summarise } from "#protocol/history/histogram.ts";
import type { Grouping } from "#protocol/history/history.ts";
import type { SqlReader } from "#prisma/sql-reader.ts";
import { countMinute, countRecord, type Target } from "./count-values.ts";
import type { Answers, GroupRow, PointRow, Scope } from "../../api/ports/history-questions.ts";
import { planRange } from "./plan-range.ts";
import { lastShelf, readMinutes, readRecords, readRolls, type SeriesRow, type SeriesTable } from "./read-rows.ts";
import { createCell, measureOf, readRoll, type Cell } from "#protocol/history/roll-bytes.ts";
import { LEVELS, MINUTE_MS, shelfOf, STRETCH_MS, WHOLE_SHELF, type Level } from "../stretch.ts";

/**
 * Computes percentiles over any range from daily and hourly rows, and from minutes and records that no row holds yet. Values
 * of all nodes together have a shelf of their own, so only questions about single nodes read the nodes' shelves.
 */

const SHELVES_AT_ONCE = 8;
const KINDS = 16;

/** Keeps one cell per group, and reuses the memory of cells from shelf to shelf. */
function createGroups() {
  const cells = new Map<string, Cell>();
  const spare: Cell[] = [];
  return {
    cellFor: (key: string): Cell => {
      let cell = cells.get(key);
      if (cell === undefined) cells.set(key, (cell = spare.pop() ?? createCell()));
      return cell;
    },
    /** Returns one row per group and clears all groups. */
    take: (): GroupRow[] => {
      const rows: GroupRow[] = [];
      for (const [name, cell] of cells) {
        const summary = summarise(cell.histogram) ?? { count: 0, mean: 0, p10: 0, p50: 0, p90: 0 };
        const split = name.indexOf(" ");
        const measure = measureOf(Number(name.slice(0, split)) * 4);
        rows.push({ key: name.slice(split + 1), measure, failures: cell.failures, ...summary });
        clearHistogram(cell.histogram);
        cell.failures = 0;
        spare.push(cell);
      }
      cells.clear();
      return rows;
    },
  };
}
type Groups = ReturnType<typeof createGroups>;

function keyOf(series: SeriesRow, kind: number, by: Grouping): string {
  switch (by) {
    case "all":
      return "";
    case "node":
      return String(series.node);
    case "region":
      return series.nodeRegion;
    case "provider":
      return series.provider;
    case "profile":
      return series.profileId;
    case "engine":
      return series.engine;
    case "direction":
      return measureOf(kind);
  }
}

interface Reading {
  client: SqlReader;
  series: SeriesTable;
  scope: Scope;
  target: Target;
  isOfNodes: boolean;
}

/**
 * Returns a function that finds the cell of a value: null when the scope leaves it out. Group names are cached per series and
 * kind, because few series recur often.
 */
function targetOf(about: {
  series: SeriesTable;
  scope: Scope;
  by: Grouping;
  groups: Groups;
  isOfNodes: boolean;
}): Target {
  const { series, scope, by, groups, isOfNodes } = about;
  const kinds = new Set(scope.kinds);
  const nodes = scope.nodes === null ? null : new Set(scope.nodes);
  const names = new Map<number, string | null>();
  const nameOf = (id: number, kind: number): string | null => {
    const given = series.rows.get(id);
    // Minutes and records name the series of a node; a question about all nodes counts them in the series of all nodes.
    const row = isOfNodes || given === undefined || given.wholeId === 0 ? given : series.rows.get(given.wholeId);
    if (row === undefined || !kinds.has(kind)) return null;
    if (scope.profileId !== null && row.profileId !== scope.profileId) return null;
    if (scope.provider !== null && row.provider !== scope.provider) return null;
    if (scope.region !== null && row.nodeRegion !== scope.region) return null;
    if (scope.engine !== null && row.engine !== scope.engine) return null;
    if (nodes !== null && !nodes.has(row.node)) return null;
    return `${kind >> 2} ${keyOf(row, kind, by)}`;
  };
  return (id, kind) => {
    const at = id * KINDS + kind;
    let name = names.get(at);
    if (name === undefined) names.set(at, (name = nameOf(id, kind)));
    return name === null ? null : groups.cellFor(name);
  };
}

async function countRows(
  reading: Reading,
  at: { level: Level; shelves: readonly [number, number]; stretches: readonly [number, number] },
): Promise<void> {
  const { client, target } = reading;
  const where = { ...at, level: LEVELS[at.level] };
  for (const { body } of await readRolls(client, where)) readRoll(body, target);
}

/** Counts what no hourly row holds yet, for the nodes of one shelf or for all nodes together. */
async function countTail(
  reading: Reading,
  about: { tail: readonly [number, number] | null; shelf: number; records: Records },
): Promise<void> {
  const { tail, shelf, records } = about;
  if (tail === null) return;
  const minutes = [Math.floor(tail[0] / MINUTE_MS), Math.ceil(tail[1] / MINUTE_MS)] as const;
  if (shelf === WHOLE_SHELF) await countRows(reading, { level: "minute", shelves: [0, 1], stretches: minutes });
  else {
    for (const body of await readMinutes(reading.client, { shelf, minutes })) countMinute(body, reading.target);
  }
  for (const record of records.get(shelf) ?? []) countRecord(record, reading.target);
}

type Records = Map<number, Awaited<ReturnType<typeof readRecords>>>;

async function recordsOf(
  { client, series, isOfNodes }: Reading,
  tail: readonly [number, number] | null,
): Promise<Records> {
  if (tail === null) return new Map();
  const rows = await readRecords(client, ...tail);
  return Map.groupBy(rows, ({ series: id }) => (isOfNodes ? shelfOf(series.rows.get(id)?.node ?? 0) : WHOLE_SHELF));
}

/** Yields the shelves to read as ranges, the end exclusive. */
async function* portions(
  client: SqlReader,
  scope: Scope,
  isOfNodes: boolean,
): AsyncGenerator<readonly [number, number]> {
  if (!isOfNodes) {
    yield [WHOLE_SHELF, WHOLE_SHELF + 1];
    return;
  }
  const last = await lastShelf(client);
  if (scope.nodes !== null) {
    for (const shelf of new Set(scope.nodes.map(shelfOf))) yield [shelf, shelf + 1];
    return;
  }
  for (let shelf = 1; shelf <= last; shelf += SHELVES_AT_ONCE)
    yield [shelf, Math.min(last + 1, shelf + SHELVES_AT_ONCE)];
}

/** Returns one row for each group and measure that has a value or a failure. */
export async function readPercentiles(
  client: SqlReader,
  series: SeriesTable,
  { scope, by }: { scope: Scope; by: Grouping },
): Promise<Answers["percentiles"]> {
  await series.refresh();
  const plan = planRange(scope, scope.kept);
  const isOfNodes = by === "node" || scope.nodes !== null;
  const groups = createGroups();
  const reading = { client, series, scope, isOfNodes, target: targetOf({ series, scope, by, groups, isOfNodes }) };
  const records = await recordsOf(reading, plan.tail);
  const rows: GroupRow[] = [];
  for await (const shelves of portions(client, scope, isOfNodes)) {
    if (plan.days[0] < plan.days[1]) await countRows(reading, { level: "day", shelves, stretches: plan.days });
    for (const stretches of plan.hours) await countRows(reading, { level: "hour", shelves, stretches });
    for (let shelf = shelves[0]; shelf < shelves[1]; shelf++) {
      await countTail(reading, { tail: plan.tail, shelf, records });
    }
    // A node lies on one shelf: its group is complete.
    if (by === "node") rows.push(...groups.take());
  }
  return { rows: [...rows, ...groups.take()], from: plan.from, to: plan.to };
}

/** Returns the same rows for each interval of a range, for charts. Minutes exist for all nodes together only. */
export async function readSeries(
  client: SqlReader,
  series: SeriesTable,
  { scope, by, step }: { scope: Scope; by: Grouping; step: Level },
): Promise<PointRow[]> {
  await series.refresh();
  const isOfNodes = scope.nodes !== null && step !== "minute";
  const groups = createGroups();
  const reading = { client, series, scope, isOfNodes, target: targetOf({ series, scope, by, groups, isOfNodes }) };
  const stepMs = STRETCH_MS[step];
  const points: PointRow[] = [];
  const take = (stretch: number) => {
    for (const row of groups.take()) points.push({ ...row, at: stretch * stepMs });
  };
  const { hourThrough, dayThrough } = scope.kept;
  const rowsEnd = step === "minute" ? Infinity : step === "hour" ? hourThrough : dayThrough;
  const end = Math.ceil(scope.to / stepMs);
  const first = Math.floor(scope.from / stepMs);
  const bodies = new Map<number, Uint8Array[]>();
  for await (const shelves of portions(client, scope, isOfNodes)) {
    const where = { level: LEVELS[step], shelves, stretches: [first, Math.min(end, rowsEnd)] as const };
    for (const { stretch, body } of await readRolls(client, where)) {
      const known = bodies.get(stretch);
      if (known === undefined) bodies.set(stretch, [body]);
      else known.push(body);
    }
  }
  for (const [stretch, found] of [...bodies].toSorted(([a], [b]) => a - b)) {
    for (const body of found) readRoll(body, reading.target);
    take(stretch);
  }
  for (let stretch = Math.max(first, rowsEnd); stretch < end; stretch++) {
    await countStretch(reading, { from: stretch * stepMs, to: (stretch + 1) * stepMs });
    take(stretch);
  }
  return points;
}

/** Counts an interval that has no row of its own yet: from hourly rows, and from what no hourly row holds yet. */
async function countStretch(reading: Reading, range: { from: number; to: number }): Promise<void> {
  const { client, scope, isOfNodes } = reading;
  const plan = planRange(range, { ...scope.kept, dayThrough: 0 });
  const records = await recordsOf(reading, plan.tail);
  for await (const shelves of portions(client, scope, isOfNodes)) {
    for (const stretches of plan.hours) await countRows(reading, { level: "hour", shelves, stretches });
    for (let shelf = shelves[0]; shelf < shelves[1]; shelf++) {
      await countTail(reading, { tail: plan.tail, shelf, records });
    }
  }
}
