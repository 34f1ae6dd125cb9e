import * as z from "zod";

/**
 * Bounded schemas for untrusted input. Arrays and texts carry `max`, records come from `recordOf`, numbers from the schemas
 * below. A test walks the router and fails on a schema without bounds.
 */

/** Largest size of a file, a checkpoint or a disk (1 PiB). The sum of 8,000 of them fits in 64 bits. */
export const MOST_BYTES = 2 ** 50;
/** A byte count, or a duration in milliseconds with the same range. */
export const byteCount = z.number().int().min(0).max(MOST_BYTES);
/** A count that fits in a 32-bit integer. */
export const count = z.number().int().min(0).max(1_000_000_000);
/** Epoch milliseconds within the range of a JavaScript date, so that a node with a wrong clock cannot block its own outbox. */
export const instant = z.number().int().min(0).max(8_640_000_000_000_000);
/** Bytes per second; the limit is a thousand times the fastest link. */
export const rate = z.number().min(0).max(1e13);
/** Round trip, milliseconds. */
export const roundTrip = z.number().min(0).max(600_000);
/** Version of a row; each change increments it. */
export const rowVersion = z.number().int().min(0).max(2_147_483_647);
/** Row id that the database assigns in sequence. */
export const rowNumber = z
  .number()
  .int()
  .min(0)
  .max(2 ** 52);
/** Value of a metric: large enough for training metrics, small enough that sums stay finite. */
export const metricValue = z.number().min(-1e100).max(1e100);

/**
 * Returns a schema for text that goes into the URL of a request to a store, such as a key or an upload id. Rejects unpaired
 * surrogates, which JavaScript strings can hold and URLs cannot.
 */
export const addressText = (mostLength: number): z.ZodString =>
  z
    .string()
    .max(mostLength)
    .refine((text) => text.isWellFormed(), "it is not valid Unicode");

export const MOST_METRICS = 256;
export const MOST_LABELS = 64;

/**
 * Returns a schema for a record of at most `most` entries. Counts the entries before it parses any, and stops at the first
 * bad entry. A record of any size therefore costs one count and yields the issues of one entry.
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

/** Largest number of issues reported for one input. */
export const MOST_ISSUES = 20;

/**
 * Makes a schema stop at the first bad element or field at any depth. An input of 50,000 bad files then yields the issues of
 * one file. Valid input is parsed as before.
 */
export function stopAtFirstIssue(schema: z.core.$ZodType): void {
  const { run } = schema._zod;
  schema._zod.run = (payload, context) => run(payload, { ...context, abortEarly: true });
}
