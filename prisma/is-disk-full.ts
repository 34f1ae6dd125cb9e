/** What SQLite and the system say where a write finds no room. */
const NO_ROOM = /SQLITE_FULL|database or disk is full|ENOSPC|EDQUOT/;

/** Tells whether an error of the database, or one that caused it, says that its disk has no room. */
export function isDiskFull(error: unknown): boolean {
  let cause = error;
  for (let depth = 0; depth < 5 && cause instanceof Error; depth++) {
    if (NO_ROOM.test(cause.message)) return true;
    cause = cause.cause;
  }
  return false;
}
