import * as z from "zod";
import { recordOf } from "./bounded.ts";

/** Which nodes and runs are meant: by the pattern of their names, where `*` is any text and `?` one character, and by labels. */
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
  /** All of them have to be there as given. */
  labels: recordOf(z.string().min(1).max(32), z.string().max(128), 16).default({}),
});
export type Scope = z.infer<typeof scope>;
export const EVERYWHERE: Scope = { nodes: null, runs: null, labels: {} };

/** Whether a name fits a pattern; null fits every name. Takes time in proportion to both lengths, whatever the pattern. */
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

/** Patterns of runs as a person writes them: `llama-*, eval-?`; kept with one comma between them. */
export const runPatterns = z
  .string()
  .max(512)
  .transform((text) => text.split(/[\s,]+/).filter((one) => one !== ""))
  .pipe(z.array(pattern).min(1, "at least one pattern").max(16, "16 patterns at most"))
  .transform((all) => all.join(","));

/** Whether a run fits one of the patterns that `runPatterns` read. */
export const fitsPatterns = (run: string, patterns: string): boolean =>
  patterns.split(",").some((one) => fitsPattern(run, one));

/** Whether a node is meant, whatever it runs. */
export const fitsNode = (
  node: { name: string; facts: { labels: Readonly<Record<string, string>> } },
  wanted: Scope,
): boolean =>
  fitsPattern(node.name, wanted.nodes) &&
  Object.entries(wanted.labels).every(([name, value]) => node.facts.labels[name] === value);
