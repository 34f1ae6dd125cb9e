import type { Hub } from "../api/hub.ts";
import type { RolledShelf } from "../api/ports/history-questions.ts";
import { DAY_MS, HOUR_MS, HOURS_A_DAY, LEVELS, MINUTE_MS, type Level } from "./stretch.ts";

/**
 * Rolls minutes up into hours, and hours into days, once they are over. The thread reads and counts, the hub writes. The
 * progress mark is written last, so a hub killed midway redoes the same interval. Rows that exist are replaced, never added
 * to.
 */

const SHELVES_AT_ONCE = 16;
/** Hours per pass: after a long downtime the backlog is worked off in portions. */
const MOST_HOURS_AT_ONCE = 48;

export async function rollUp(hub: Hub): Promise<void> {
  const hourNow = Math.floor(hub.now() / HOUR_MS);
  const first = (await markOf(hub, "hour")) ?? (await firstHour(hub));
  if (first === null) return;
  const end = Math.min(hourNow, first + MOST_HOURS_AT_ONCE);
  for (let hour = first; hour < end && !hub.closing.aborted; hour++) {
    const rolled = await hub.history.reader.ask({ op: "gather", from: hour * HOUR_MS, to: (hour + 1) * HOUR_MS });
    await write(hub, { level: "hour", stretch: hour, rolled });
  }
  const dayEnd = Math.floor(((await markOf(hub, "hour")) ?? first) / HOURS_A_DAY);
  const firstDay = (await markOf(hub, "day")) ?? Math.floor((first * HOUR_MS) / DAY_MS);
  for (let day = firstDay; day < dayEnd && !hub.closing.aborted; day++) {
    const hours = { from: day * HOURS_A_DAY, to: (day + 1) * HOURS_A_DAY };
    await write(hub, {
      level: "day",
      stretch: day,
      rolled: await hub.history.reader.ask({ op: "condense", ...hours }),
    });
  }
}

/** Returns up to where (exclusive) rows of a level exist; null before the first. */
export async function markOf(hub: Pick<Hub, "db">, level: Level): Promise<number | null> {
  const row = await hub.db.historyMark.findUnique({ where: { level: LEVELS[level] } });
  return row?.through ?? null;
}

async function firstHour(hub: Hub): Promise<number | null> {
  const minute = await hub.db.historyMinute.findFirst({ orderBy: { minute: "asc" }, select: { minute: true } });
  const record = await hub.db.linkRecord.findFirst({ orderBy: { at: "asc" }, select: { at: true } });
  const begins = [
    ...(minute === null ? [] : [minute.minute * MINUTE_MS]),
    ...(record === null ? [] : [record.at.getTime()]),
  ];
  return begins.length === 0 ? null : Math.floor(Math.min(...begins) / HOUR_MS);
}

async function write(hub: Hub, row: { level: "hour" | "day"; stretch: number; rolled: RolledShelf[] }): Promise<void> {
  const { stretch, rolled } = row;
  const level = LEVELS[row.level];
  // Several short transactions, so that writes of nodes and people never wait long.
  for (let from = 0; from < rolled.length; from += SHELVES_AT_ONCE) {
    const some = rolled.slice(from, from + SHELVES_AT_ONCE);
    await hub.db.$transaction(async (tx) => {
      await tx.historyRoll.deleteMany({ where: { level, stretch, shelf: { in: some.map(({ shelf }) => shelf) } } });
      await tx.historyRoll.createMany({ data: some.map(({ shelf, body }) => ({ level, shelf, stretch, body })) });
    });
    // Other work of the event loop runs between two transactions.
    await new Promise((resolve) => setImmediate(resolve));
  }
  const through = stretch + 1;
  await hub.db.historyMark.upsert({ where: { level }, create: { level, through }, update: { through } });
}
