/** Converts cells of rows that were read without Prisma, and so without its column types. */

/** Returns 0 for anything but a number. */
export const numberIn = (cell: unknown): number =>
  typeof cell === "number" || typeof cell === "bigint" ? Number(cell) : 0;
export const numberOrNull = (cell: unknown): number | null => (cell === null ? null : numberIn(cell));
/** Returns an empty string for anything but text. */
export const textIn = (cell: unknown): string => (typeof cell === "string" ? cell : "");
