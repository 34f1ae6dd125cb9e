import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { placeOf, readRoots } from "../situations/read-roots.ts";
import { situationsPage } from "../situations/write-situations-page.ts";
import { findTitle } from "./find-title.ts";
import { ROOT } from "./run-step.ts";

/** e2e/situations promises tests by file and title; a renamed test must not leave a promise behind. */

test("every test that a situation names exists", async () => {
  const roots = await readRoots();
  expect(roots.length).toBeGreaterThan(0);
  const missing = roots.flatMap(({ rows }) =>
    rows.filter(({ test: named }) => {
      const { file, title } = placeOf(named);
      return !existsSync(join(ROOT, file)) || findTitle(file, title) !== title;
    }),
  );
  expect(missing).toEqual([]);
});

test("docs/situations.md says what the situations say, and all of them hold (npm run prove -- situations)", async () => {
  const page = situationsPage(await readRoots(), () => "passed");
  expect(readFileSync(join(ROOT, "docs/situations.md"), "utf8")).toBe(page);
});

test("a row whose test failed or did not run says so on the page", () => {
  const rows = [
    { situation: "A key with a bell", outcome: "It is escaped", test: "a.test.ts > one" },
    { situation: "A key with a | sign", outcome: "It is written", test: "a.test.ts > two" },
  ];
  const roots = [{ number: 3, title: "Names", rows }];
  const page = situationsPage(roots, (named) => (named.endsWith("one") ? "failed" : null));
  expect(page).toContain("| A key with a bell | **does not hold**: It is escaped | `a.test.ts` > one |");
  expect(page).toContain("| A key with a \\| sign | **not tried**: It is written | `a.test.ts` > two |");
});
