import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "./run-step.ts";

/** What the pages must not have, whoever adds a page. */

const sources = globSync("{app/**/*.{ts,tsx},next.config.mjs}", { cwd: ROOT }).filter((file) => !/\.test\./.test(file));
const having = (pattern: RegExp): string[] =>
  sources.filter((file) => pattern.test(readFileSync(join(ROOT, file), "utf8")));

test("the sources of the pages are looked at", () => {
  expect(sources.length).toBeGreaterThan(80);
  expect(having(/"use client"/).length).toBeGreaterThan(20);
});

test("no page has a Server Action", () => {
  expect(having(/["']use server["']/)).toEqual([]);
});

test("no page has route handlers, middleware, rewrites or the image optimiser", () => {
  const files = globSync("{app/**/route.{ts,tsx},{app,.}/{middleware,proxy}.{ts,js,mjs}}", { cwd: ROOT });
  expect(files).toEqual([]);
  expect(having(/\brewrites\b|\bredirects\b|from ["']next\/image["']|remotePatterns/)).toEqual([]);
});

test("no page writes markup or code from text", () => {
  expect(having(/dangerouslySetInnerHTML|\binnerHTML\b|document\.write|\beval\(|new Function\(/)).toEqual([]);
});

test("sizes and times are said as this browser chose, on every page", () => {
  expect(having(/\bformatBytes\b[^;]*from "#protocol\/base\/units/)).toEqual(["app/_ui/text/sizes.ts"]);
  // Weeks of the ledger and days of usage are those of UTC, whoever looks.
  expect(having(/toLocale(Time|Date)String|Date\([^)]*\)\.toLocaleString/).toSorted()).toEqual([
    "app/_buckets/usage-words.ts",
    "app/_lost-work/week-bars.tsx",
  ]);
});
