/** Messages of SQLite and of the system for a write that finds no room. */
const NO_ROOM = /SQLITE_FULL|database or disk is full|ENOSPC|EDQUOT/;
/** Messages of SQLite for a database that another program holds longer than its busy timeout. */
const LOCKED = /SQLITE_BUSY|database is locked/;
/** Messages of SQLite for a file whose content it cannot read as a database. */
const DAMAGED = /SQLITE_NOTADB|SQLITE_CORRUPT|file is not a database|database disk image is malformed/;
/** Messages of the driver of PostgreSQL for a connection that it did not get, or that ended before the answer. */
const GONE =
  /^Connection terminated|^timeout exceeded when trying to connect|^Query read timeout|^Client has encountered a connection error/;
/** Prisma's codes for a transaction that could not begin in time, that was rolled back because it took too long, or that met another. */
const TOO_LATE: ReadonlySet<unknown> = new Set(["P1008", "P2024", "P2028", "P2034"]);
/** Prisma's codes for a server that does not answer or ended the connection, and the product's own. */
const UNREACHABLE: ReadonlySet<unknown> = new Set(["P1001", "P1002", "P1011", "P1017", "DATABASE_UNREACHABLE"]);

export type DatabaseFailure = "HUB_DISK_FULL" | "HUB_DATABASE_DAMAGED" | "HUB_BUSY" | "DATABASE_UNREACHABLE";

/** Returns what a code of PostgreSQL (SQLSTATE) stands for; null for any other. */
function failureOfState(code: unknown): DatabaseFailure | null {
  if (typeof code !== "string" || !/^[0-9A-Z]{5}$/.test(code)) return null;
  if (code === "53100") return "HUB_DISK_FULL";
  if (code === "XX001" || code === "XX002") return "HUB_DATABASE_DAMAGED";
  // Serialization, deadlock, a lock or a statement that took too long, too many connections, too little memory.
  if (/^(40001|40P01|55P03|57014|53300|53200|25P03)$/.test(code)) return "HUB_BUSY";
  // Connections that ended or are refused, a server that starts or stops, and a standby that takes no writes.
  if (/^(08...|57P0[1-5]|25006|28...|3D000)$/.test(code)) return "DATABASE_UNREACHABLE";
  return null;
}

/** Returns the errors behind an error: Prisma hands on those of a driver in a field of their own. */
function* chainOf(error: unknown): Generator<Record<string, unknown>> {
  let cause = error;
  for (let depth = 0; depth < 6 && typeof cause === "object" && cause !== null; depth++) {
    const one = cause as Record<string, unknown>;
    yield one;
    const { meta } = one;
    const ofDriver = typeof meta === "object" && meta !== null ? Reflect.get(meta, "driverAdapterError") : undefined;
    cause = one["cause"] ?? ofDriver;
  }
}

/**
 * Returns the code of the fault that an error of the database, or one of its causes, stands for; null for any other error. After
 * `HUB_BUSY` nothing of the transaction is stored, so that it can be repeated.
 */
export function databaseFailure(error: unknown): DatabaseFailure | null {
  let found: DatabaseFailure | null = null;
  for (const { message, code, originalCode } of chainOf(error)) {
    const said = typeof message === "string" ? message : "";
    if (NO_ROOM.test(said)) return "HUB_DISK_FULL";
    if (DAMAGED.test(said)) return "HUB_DATABASE_DAMAGED";
    const ofState = failureOfState(originalCode) ?? failureOfState(code);
    if (ofState === "HUB_DISK_FULL" || ofState === "HUB_DATABASE_DAMAGED") return ofState;
    if (UNREACHABLE.has(code) || GONE.test(said)) found = "DATABASE_UNREACHABLE";
    else if (LOCKED.test(said) || TOO_LATE.has(code)) found ??= "HUB_BUSY";
    if (ofState !== null) found = ofState;
  }
  return found;
}
