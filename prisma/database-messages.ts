/** What the thread of the database is asked and answers; see `thread-client.ts`. */

/** As SQLite has it. Dates and booleans of arguments become numbers in the thread. */
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

/** What an error of the library says, which a message between threads would drop. */
export interface DatabaseError {
  message: string;
  code: string | undefined;
  extendedCode: string | undefined;
  rawCode: number | undefined;
}

export type DatabaseReply = { id: number } & ({ result: DatabaseResult | null } | { error: DatabaseError });
