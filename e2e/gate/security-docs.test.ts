import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { findTitle } from "./find-title.ts";
import { ROOT } from "./run-step.ts";

/** docs/security.md promises tests by file and title; a renamed test must not leave a promise behind. */

const page = readFileSync(join(ROOT, "docs/security.md"), "utf8");

/** Each `file` > title, up to the next `;`, bar or full stop before further words. */
const named = [...page.matchAll(/`([\w./()-]+\.(?:test|spec)\.tsx?)` > ([^|;\n]+)/g)].map(
  ([, file = "", title = ""]) => ({
    file,
    title: title.trim(),
  }),
);

test("every test that docs/security.md names exists", () => {
  expect(named.length).toBeGreaterThan(60);
  const missing = named.filter(({ file, title }) => !existsSync(join(ROOT, file)) || findTitle(file, title) === null);
  expect(missing).toEqual([]);
});

test("every line of docs/security.md has a state, and a test or a reason", () => {
  const rows = page.split("\n").filter((line) => line.startsWith("|") && !/^\|(---|\s*line)/.test(line));
  expect(rows.length).toBeGreaterThan(50);
  for (const row of rows) {
    const [, , state = "", why = ""] = row.split("|").map((cell) => cell.trim());
    expect(["held", "part", "not built"], row).toContain(state);
    expect(why.length, row).toBeGreaterThan(10);
    if (state === "held") expect(why, row).toMatch(/\.(test|spec)\.tsx?` > /);
  }
});

test("a title that no test has is found", () => {
  expect(findTitle("e2e/gate/security-docs.test.ts", "every test that docs/security.md names exists")).not.toBeNull();
  expect(findTitle("e2e/gate/security-docs.test.ts", "a test that was renamed")).toBeNull();
});
