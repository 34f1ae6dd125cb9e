import type * as z from "zod";

/** Returns the value of a JSON text of the database; undefined when it is none. One bad row must fail no list. */
export function parseStored(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** Returns a column as its schema reads it; null when it is empty, no JSON, or of another form. */
export const readStored = <T>(text: string | null, schema: z.ZodType<T>): T | null =>
  text === null ? null : (schema.safeParse(parseStored(text)).data ?? null);
