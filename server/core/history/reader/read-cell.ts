/** Cells of rows that were read without Prisma: SQLite says of each only what it holds. */

/** What is no number is 0. */
export const numberIn = (cell: unknown): number =>
  typeof cell === "number" || typeof cell === "bigint" ? Number(cell) : 0;
export const numberOrNull = (cell: unknown): number | null => (cell === null ? null : numberIn(cell));
/** What is no text is empty. */
export const textIn = (cell: unknown): string => (typeof cell === "string" ? cell : "");
