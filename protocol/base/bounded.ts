import * as z from "zod";

/**
 * Bounded schemas for input from strangers. Arrays and texts carry `max`, records are made by `recordOf`, numbers are one of
 * those here. A test walks the router and fails on a schema without bounds.
 */

/** Most bytes that a file, a checkpoint or a disk can have (1 PiB); 8,000 of them still add up in 64 bits. */
export const MOST_BYTES = 2 ** 50;
/** A byte count, or a duration in milliseconds that is counted like one. */
export const byteCount = z.number().int().min(0).max(MOST_BYTES);
/** A count that every database holds. */
export const count = z.number().int().min(0).max(1_000_000_000);
/** Epoch milliseconds that every calendar holds: a stranger's clock must not be able to block its own outbox. */
export const instant = z.number().int().min(0).max(8_640_000_000_000_000);
/** Bytes per second; the fastest links move a thousandth of the most. */
export const rate = z.number().min(0).max(1e13);
/** Round trip, milliseconds. */
export const roundTrip = z.number().min(0).max(600_000);
/** Version of a row: counts up with each change. */
export const rowVersion = z.number().int().min(0).max(2_147_483_647);
/** Id of a row that the database counts. */
export const rowNumber = z
  .number()
  .int()
  .min(0)
  .max(2 ** 52);
/** The value of a metric. Large enough for what training counts, small enough to be added up. */
export const metricValue = z.number().min(-1e100).max(1e100);

/**
 * A text that goes into the address of a request to a store, such as a key or the id of an upload. JavaScript strings can hold one
 * half of a surrogate pair, which no address can.
 */
export const addressText = (mostLength: number): z.ZodString =>
  z
    .string()
    .max(mostLength)
    .refine((text) => text.isWellFormed(), "it is not valid Unicode");

export const MOST_METRICS = 256;
export const MOST_LABELS = 64;

/**
 * A record of at most `most` entries. The entries are counted before one of them is looked at, and the first bad one ends
 * it, so that a record of any size costs a count and makes the issues of one entry.
 */
export function recordOf<K extends z.core.$ZodRecordKey, V extends z.core.$ZodType>(
  key: K,
  value: V,
  most: number,
): z.ZodRecord<K, V> {
  const schema = z.record(key, value).register(z.globalRegistry, { maxProperties: most });
  const { run } = schema._zod;
  schema._zod.run = (payload, context) => {
    const input: unknown = payload.value;
    if (typeof input !== "object" || input === null) return run(payload, context);
    const names = Object.keys(input);
    if (names.length > most) {
      payload.issues.push({ code: "custom", message: `it has ${names.length} entries, ${most} at most`, input });
      return payload;
    }
    for (const name of names) {
      const entry = { [name]: Reflect.get(input, name) as unknown };
      const one = run({ value: entry, issues: [] }, context);
      if (!(one instanceof Promise) && one.issues.length > 0) {
        payload.issues.push(...one.issues);
        return payload;
      }
    }
    return run(payload, context);
  };
  return schema;
}

/** Most issues that are made of one input. */
export const MOST_ISSUES = 20;

/**
 * Makes a schema stop at the first bad element or field, wherever it lies. An input of 50,000 bad files makes the issues of
 * one of them; an input that is good is parsed as before.
 */
export function stopAtFirstIssue(schema: z.core.$ZodType): void {
  const { run } = schema._zod;
  schema._zod.run = (payload, context) => run(payload, { ...context, abortEarly: true });
}
