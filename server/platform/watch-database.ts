import { stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import { LITTLE_ROOM_BYTES, LONG_LOG_BYTES } from "#protocol/alerts/alerts.ts";
import { formatBytes } from "#protocol/base/units.ts";
import type { Counters } from "./counters.ts";
import type { Log } from "./log.ts";
import type { DatabaseRoom } from "./counters.ts";

interface Watched {
  dataFolder: string;
  counters: Pick<Counters, "database">;
  log: Pick<Log, "warn" | "info">;
}

const sizeOf = (file: string): Promise<number> =>
  stat(file).then(
    ({ size }) => size,
    () => 0,
  );

/**
 * Returns a function that measures the database's write-ahead log and the free space of its disk. Each result is kept in the
 * counters. Crossing a limit is logged once, and so is the recovery.
 */
export function createDatabaseWatch({ dataFolder, counters, log }: Watched): () => Promise<DatabaseRoom> {
  const said = { log: false, room: false };
  return async () => {
    const logBytes = await sizeOf(join(dataFolder, "hub.db-wal"));
    const disk = await statfs(dataFolder);
    const room = { logBytes, freeBytes: disk.bavail * disk.bsize };
    counters.database = room;
    const isLong = logBytes > LONG_LOG_BYTES;
    if (isLong && !said.log) {
      const why = "a program reads the database in one transaction for long, so nothing of its log can be folded in";
      log.warn({ ...room, why, fix: "end what reads hub.db; the log shrinks by itself" }, "the database's log is long");
    }
    if (!isLong && said.log) log.info(room, "the database's log is short again");
    const isTight = room.freeBytes < LITTLE_ROOM_BYTES;
    if (isTight && !said.room) {
      const fix = `make room in ${dataFolder}: without it nothing new is written down`;
      log.warn({ ...room, fix }, `the disk of the hub has ${formatBytes(room.freeBytes)} left`);
    }
    if (!isTight && said.room) log.info(room, "the disk of the hub has room again");
    said.log = isLong;
    said.room = isTight;
    return room;
  };
}
