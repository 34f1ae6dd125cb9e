/** Messages of SQLite and of the system for a write that finds no room. */
const NO_ROOM = /SQLITE_FULL|database or disk is full|ENOSPC|EDQUOT/;
/** Messages of SQLite for a database that another program holds longer than its busy timeout. */
const LOCKED = /SQLITE_BUSY|database is locked/;
/** Messages of SQLite for a file whose content it cannot read as a database. */
const DAMAGED = /SQLITE_NOTADB|SQLITE_CORRUPT|file is not a database|database disk image is malformed/;
/** Prisma's codes for a transaction that could not begin in time, or that was rolled back because it took too long. */
const TOO_LATE: ReadonlySet<unknown> = new Set(["P1008", "P2024", "P2028"]);

/**
 * Returns the code of the fault that an error of the database, or one of its causes, stands for; null for any other error. After
 * `HUB_BUSY` nothing of the transaction is stored, so that it can be repeated.
 */
export function databaseFailure(error: unknown): "HUB_DISK_FULL" | "HUB_DATABASE_DAMAGED" | "HUB_BUSY" | null {
  let cause = error;
  let isBusy = false;
  for (let depth = 0; depth < 5 && cause instanceof Error; depth++) {
    if (NO_ROOM.test(cause.message)) return "HUB_DISK_FULL";
    if (DAMAGED.test(cause.message)) return "HUB_DATABASE_DAMAGED";
    isBusy ||= LOCKED.test(cause.message) || ("code" in cause && TOO_LATE.has(cause.code));
    cause = cause.cause;
  }
  return isBusy ? "HUB_BUSY" : null;
}
