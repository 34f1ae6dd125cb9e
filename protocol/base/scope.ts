import * as z from "zod";
import { recordOf } from "./bounded.ts";

/** Selects nodes and runs by patterns of their names, in which `*` is any text and `?` one character, and by labels. */
const pattern = z
  .string()
  .trim()
  .min(1)
  .max(128)
  .regex(/^[A-Za-z0-9._*?-]+$/, "a pattern has letters, digits, '.', '_', '-', '*' and '?'");
export const scope = z.object({
  /** Null: every node. */
  nodes: pattern.nullable().default(null),
  /** Null: every run. */
  runs: pattern.nullable().default(null),
  /** A node must have all of these labels with these values. */
  labels: recordOf(z.string().min(1).max(32), z.string().max(128), 16).default({}),
});
export type Scope = z.infer<typeof scope>;
export const EVERYWHERE: Scope = { nodes: null, runs: null, labels: {} };

/** Returns whether a name matches a pattern; null matches every name. Time is at most proportional to both lengths' product. */
export function fitsPattern(name: string, wanted: string | null): boolean {
  if (wanted === null) return true;
  let at = 0;
  let place = 0;
  let star = -1;
  let starAt = 0;
  while (at < name.length) {
    const char = wanted[place];
    if (char !== "*" && (char === "?" || char === name[at])) {
      at++;
      place++;
    } else if (char === "*") {
      star = place++;
      starAt = at;
    } else if (star === -1) return false;
    else {
      place = star + 1;
      at = ++starAt;
    }
  }
  while (wanted[place] === "*") place++;
  return place === wanted.length;
}

/** Parses patterns of runs as a person writes them (`llama-*, eval-?`) and joins them with single commas. */
export const runPatterns = z
  .string()
  .max(512)
  .transform((text) => text.split(/[\s,]+/).filter((one) => one !== ""))
  .pipe(z.array(pattern).min(1, "at least one pattern").max(16, "16 patterns at most"))
  .transform((all) => all.join(","));

/** Returns whether a run matches one of the patterns that `runPatterns` parsed. */
export const fitsPatterns = (run: string, patterns: string): boolean =>
  patterns.split(",").some((one) => fitsPattern(run, one));

/** Returns whether a scope includes a node, without regard to its runs. */
export const fitsNode = (
  node: { name: string; facts: { labels: Readonly<Record<string, string>> } },
  wanted: Scope,
): boolean =>
  fitsPattern(node.name, wanted.nodes) &&
  Object.entries(wanted.labels).every(([name, value]) => node.facts.labels[name] === value);
