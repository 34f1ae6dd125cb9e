import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { notPromised, readPromised } from "../stage/json-lines.ts";
import { ROOT } from "./run-step.ts";

/** The text between the parenthesis or brace at `open` and the one that closes it. */
function within(text: string, open: number): string {
  let depth = 0;
  for (let at = open; at < text.length; at++) {
    if ("({".includes(text[at] ?? "")) depth++;
    if (")}".includes(text[at] ?? "") && --depth === 0) return text.slice(open, at);
  }
  return text.slice(open);
}

/** Every type that is written in a line of the worker, by the sources. */
function typesInSources(): Set<string> {
  const types = new Set<string>();
  for (const file of globSync("worker/**/*.ts", { cwd: ROOT })) {
    if (file.endsWith(".test.ts")) continue;
    const text = readFileSync(join(ROOT, file), "utf8");
    for (const call of text.matchAll(/\.(?:say|result|draw)\(|\bfacts(?:: | = )\{|JSON\.stringify\(|visibleJson\(/g)) {
      const said = within(text, call.index + call[0].length - 1);
      for (const [, type] of said.matchAll(/\btype: "([a-z-]+)"/g)) types.add(type ?? "");
    }
  }
  return types;
}

test("docs/json.md has every type of line that the worker writes", () => {
  const types = typesInSources();
  expect(types.size).toBeGreaterThan(30);
  const promised = readPromised();
  // Cut lists are for people.
  expect([...types].filter((type) => type !== "more" && !promised.has(type))).toEqual([]);
});

test("docs/json.md has no type that nothing writes", () => {
  // Made from the state that a transfer ended in.
  const made = ["superseded", "cancelled", "restore-done", "restore-failed", "restore-cancelled"];
  const types = typesInSources();
  expect([...readPromised().keys()].filter((type) => !types.has(type) && !made.includes(type))).toEqual([]);
});

test("a type and a field that the page does not have are found", () => {
  const lines = [
    `{"type":"url","url":"x","colour":1}`,
    `{"type":"surprise"}`,
    `{"at":"now","type":"note","sentence":"s"}`,
  ];
  expect(notPromised(lines)).toEqual(["url.colour", "surprise"]);
});
