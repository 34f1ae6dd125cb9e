/** Messages of SQLite and of the system for a write that finds no room. */
const NO_ROOM = /SQLITE_FULL|database or disk is full|ENOSPC|EDQUOT/;

/** Returns whether an error of the database, or one of its causes, says that the disk is full. */
export function isDiskFull(error: unknown): boolean {
  let cause = error;
  for (let depth = 0; depth < 5 && cause instanceof Error; depth++) {
    if (NO_ROOM.test(cause.message)) return true;
    cause = cause.cause;
  }
  return false;
}
