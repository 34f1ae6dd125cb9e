import type * as z from "zod";

/** Returns the value of a stored JSON text; undefined when it is invalid, so that one bad row does not fail a list. */
export function parseStored(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** Returns a column parsed by its schema; null when it is empty or does not match. */
export const readStored = <T>(text: string | null, schema: z.ZodType<T>): T | null =>
  text === null ? null : (schema.safeParse(parseStored(text)).data ?? null);
