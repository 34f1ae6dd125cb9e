import { malformed } from "./source.ts";

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Non-standard numbers that Python's JSON writer emits. */
const NO_NUMBERS: readonly string[] = ["-Infinity", "Infinity", "NaN"];

/**
 * Parses JSON as leniently as Python does: `NaN` and `Infinity` become null, and a byte order mark is skipped.
 * @throws Fault MALFORMED when it is not UTF-8 or not JSON
 */
export function parseJson(bytes: Uint8Array): unknown {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes);
  } catch {
    throw malformed("it is not UTF-8 text");
  }
  const parsed = tryParse(text) ?? tryParse(withoutNoNumbers(text));
  if (parsed === null) throw malformed("it is no JSON, or cut short");
  return parsed.value;
}

function tryParse(text: string): { value: unknown } | null {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return null;
  }
}

/** Replaces these numbers outside of strings with null, in one pass. */
function withoutNoNumbers(text: string): string {
  const pieces: string[] = [];
  let from = 0;
  let isInside = false;
  for (let at = 0; at < text.length; at++) {
    const sign = text[at];
    if (isInside) {
      if (sign === "\\") at++;
      else if (sign === '"') isInside = false;
      continue;
    }
    if (sign === '"') isInside = true;
    if (sign !== "N" && sign !== "I" && sign !== "-") continue;
    const word = NO_NUMBERS.find((one) => text.startsWith(one, at));
    if (word === undefined) continue;
    pieces.push(text.slice(from, at), "null");
    at += word.length - 1;
    from = at + 1;
  }
  pieces.push(text.slice(from));
  return pieces.join("");
}
