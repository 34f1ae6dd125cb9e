/** Messages between the hub's thread and the database thread; see `thread-client.ts`. */

/** Values as SQLite stores them. The database thread converts dates and booleans in arguments to numbers. */
export type SqlValue = null | string | number | bigint | ArrayBuffer;
export type SqlArgument = SqlValue | boolean | Uint8Array | Date;

export type DatabaseQuestion =
  | { id: number; op: "execute"; sql: string; args: readonly SqlArgument[] | Readonly<Record<string, SqlArgument>> }
  | { id: number; op: "script"; sql: string }
  | { op: "close" };

export interface DatabaseResult {
  columns: string[];
  columnTypes: string[];
  /** Cells in the order of the columns. */
  rows: SqlValue[][];
  rowsAffected: number;
  lastInsertRowid: bigint | undefined;
}

/** Fields of an error of the library; a message between threads would drop all but the first. */
export interface DatabaseError {
  message: string;
  code: string | undefined;
  extendedCode: string | undefined;
  rawCode: number | undefined;
}

export type DatabaseReply = { id: number } & ({ result: DatabaseResult | null } | { error: DatabaseError });
