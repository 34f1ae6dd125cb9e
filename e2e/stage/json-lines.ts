import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./start-process.ts";

/** Fields that docs/json.md documents, by type of line. */
export type Promised = ReadonlyMap<string, ReadonlySet<string>>;

const namesIn = (text: string): string[] => [...text.matchAll(/`([^`]+)`/g)].map(([, name]) => name ?? "");

/** @throws Error when the page has no table any more, or does not name the fields of a transfer or a fault */
export function readPromised(): Promised {
  const text = readFileSync(join(ROOT, "docs/json.md"), "utf8");
  const transfer = namesIn(/A \*\*transfer\*\* [^`]*has ([^(.]+)/.exec(text)?.[1] ?? "");
  const fault = namesIn(/A \*\*fault\*\* has ([^(.]+)/.exec(text)?.[1] ?? "");
  if (transfer.length === 0 || fault.length === 0) throw new Error("docs/json.md names no fields of transfer or fault");
  const promised = new Map<string, Set<string>>();
  for (const [, types = "", fields = ""] of text.matchAll(/^\| (`[^|]+) \| [^|]+ \| ([^|]*)\|/gm)) {
    const more = [
      ...(fields.includes("a transfer") ? transfer : []),
      ...(fields.includes("a fault's own") ? fault : []),
    ];
    for (const type of namesIn(types)) {
      const known = promised.get(type) ?? new Set(["type", "at", "slot"]);
      promised.set(type, new Set([...known, ...namesIn(fields), ...more]));
    }
  }
  if (promised.size === 0) throw new Error("docs/json.md has no table of types");
  return promised;
}

/** Returns what lines of `--json` contain but the page does not document: `type` or `type.field`. */
export function notPromised(lines: readonly string[], promised: Promised = readPromised()): string[] {
  const found = new Set<string>();
  for (const line of lines) {
    const object: Record<string, unknown> = JSON.parse(line);
    const type = String(object["type"]);
    const fields = promised.get(type);
    if (fields === undefined) found.add(type);
    else for (const name of Object.keys(object)) if (!fields.has(name)) found.add(`${type}.${name}`);
  }
  return [...found];
}
