import type * as z from "zod";
import { hashOf } from "#server/platform/random-id.ts";

/** Values that another thread has already checked by the schema of their procedure; they are not checked again. */
const parsed = new WeakSet<object>();
/** Their manifests, in stored form. */
const stored = new WeakMap<object, StoredText>();

export interface StoredText {
  text: string;
  sha256: string;
}

/** Notes that a value was already checked by the schema that receives it next. */
export function noteParsed(value: object, manifest: { value: object; stored: StoredText } | null): void {
  parsed.add(value);
  if (manifest !== null) stored.set(manifest.value, manifest.stored);
}

/** Makes a schema accept noted values unchanged. */
export function takeParsed(schema: z.core.$ZodType): void {
  const { run } = schema._zod;
  schema._zod.run = (payload, context) =>
    typeof payload.value === "object" && payload.value !== null && parsed.has(payload.value)
      ? payload
      : run(payload, context);
}

/** Returns a manifest byte for byte as it is stored, and its SHA-256. */
export function storedTextOf(manifest: object): StoredText {
  const known = stored.get(manifest);
  if (known !== undefined) return known;
  const text = JSON.stringify(manifest);
  return { text, sha256: hashOf(text) };
}
