import type { Hub } from "../api/hub.ts";
import { LEVELS, MINUTE_MS, STRETCH_MS, type Level } from "./stretch.ts";

/**
 * Removes history older than the settings allow, in small batches: deleting a week of a large fleet in one statement would
 * block every node. Minutes and records that are not rolled up yet stay.
 */

const ROWS_AT_ONCE = 500;
/** Batches per pass; the next pass removes the rest. A day of ten thousand nodes is half a million rows. */
const MOST_BATCHES = 1_200;

export async function pruneHistory(hub: Hub): Promise<number> {
  const { history: keep } = hub.settings;
  const now = hub.now();
  const mark = await hub.db.historyMark.findUnique({ where: { level: LEVELS.hour } });
  const rolledMs = (mark?.through ?? 0) * STRETCH_MS.hour;
  const minuteBefore = (ms: number) => Math.floor(Math.min(now - ms, rolledMs) / MINUTE_MS);
  const rollsBefore = (level: Level, ms: number) => ({
    level: LEVELS[level],
    stretch: { lt: Math.floor((now - ms) / STRETCH_MS[level]) },
  });
  const { db } = hub;
  return (
    (await inBatches(hub, async () => {
      const where = { minute: { lt: minuteBefore(keep.rawMs) } };
      const some = await db.historyMinute.findMany({
        where,
        take: ROWS_AT_ONCE,
        select: { shelf: true, minute: true },
      });
      const minutes = [...new Set(some.map(({ minute }) => minute))];
      return (await db.historyMinute.deleteMany({ where: { minute: { in: minutes } } })).count;
    })) +
    (await inBatches(hub, async () => {
      const where = { minute: { lt: minuteBefore(keep.rawMs) } };
      const some = await db.fleetMinute.findMany({ where, take: ROWS_AT_ONCE, select: { minute: true } });
      return (await db.fleetMinute.deleteMany({ where: { minute: { in: some.map(({ minute }) => minute) } } })).count;
    })) +
    (await pruneRolls(hub, rollsBefore("minute", keep.minuteMs))) +
    (await pruneRolls(hub, rollsBefore("hour", keep.hourMs))) +
    (await pruneRolls(hub, rollsBefore("day", keep.dayMs))) +
    (await inBatches(hub, async () => {
      const where = { at: { lt: new Date(Math.min(now - keep.recordMs, rolledMs)) } };
      const some = await db.linkRecord.findMany({
        where,
        orderBy: { at: "asc" },
        take: ROWS_AT_ONCE,
        select: { id: true },
      });
      return (await db.linkRecord.deleteMany({ where: { id: { in: some.map(({ id }) => id) } } })).count;
    }))
  );
}

const pruneRolls = (hub: Hub, where: { level: number; stretch: { lt: number } }): Promise<number> =>
  inBatches(hub, async () => {
    const some = await hub.db.historyRoll.findMany({ where, take: ROWS_AT_ONCE, select: { stretch: true } });
    const stretches = [...new Set(some.map(({ stretch }) => stretch))];
    return (await hub.db.historyRoll.deleteMany({ where: { level: where.level, stretch: { in: stretches } } })).count;
  });

/** Returns how many rows were removed. Yields to the event loop between batches. */
async function inBatches(hub: Hub, remove: () => Promise<number>): Promise<number> {
  let total = 0;
  for (let batch = 0; batch < MOST_BATCHES && !hub.closing.aborted; batch++) {
    const count = await remove();
    if (count === 0) break;
    total += count;
    await new Promise((resolve) => setImmediate(resolve));
  }
  return total;
}
