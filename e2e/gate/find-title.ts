import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./run-step.ts";

/** Returns the longest test title of a file with which the text begins, or null. */
export function findTitle(file: string, text: string): string | null {
  const source = readFileSync(join(ROOT, file), "utf8");
  const titles = [
    ...source.matchAll(/\b(?:it|test)(?:\.each|\.concurrent)?\(\s*"((?:[^"\\]|\\.)+)"|\)\(\s*"((?:[^"\\]|\\.)+)",/g),
  ];
  return (
    titles
      .map(([, one, other]) => one ?? other ?? "")
      .filter((title) => text.startsWith(title))
      .toSorted((a, b) => b.length - a.length)
      .at(0) ?? null
  );
}
