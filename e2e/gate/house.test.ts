import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { findOddOpenings, findTables, findWorse, measureHouse, readBaseline, shrink, type House } from "./house.ts";
import { arrowOf, findCircles, findUpward, mutualPairs, readImports } from "./tiers.ts";

let root = "";
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "tidemark-house-"));
});
afterEach(() => rmSync(root, { recursive: true }));

const put = (path: string, text: string) => {
  mkdirSync(join(root, dirname(path)), { recursive: true });
  writeFileSync(join(root, path), text);
};
const upward = () => findUpward(readImports(root)).map(arrowOf).toSorted();

test("no import breaks the tier law but the known ones, and no number grew", () => {
  expect(findWorse(measureHouse(), readBaseline())).toEqual([]);
});

test("finds a lower tier that imports a higher one, also a type, also lazily", () => {
  put("server/platform/a.ts", `import type { B } from "../core/nodes/b.ts";\n`);
  put("server/core/nodes/b.ts", `const c = await import("../../http/c.ts");\n`);
  put("server/http/c.ts", `import { b } from "../core/nodes/b.ts";\n`);
  expect(upward()).toEqual([
    "server/core/nodes/b.ts -> server/http/c.ts",
    "server/platform/a.ts -> server/core/nodes/b.ts",
  ]);
});

test("finds a feature that imports another, and lets it import itself and core", () => {
  put("server/features/alerts/a.ts", `import { b } from "../advice/b.ts";\nimport { c } from "./c.ts";\n`);
  put("server/features/alerts/c.ts", `import { d } from "../../core/nodes/d.ts";\n`);
  put("server/features/advice/b.ts", "");
  put("server/core/nodes/d.ts", "");
  expect(upward()).toEqual(["server/features/alerts/a.ts -> server/features/advice/b.ts"]);
});

test("finds product code that imports what is for tests, and lets tests do so", () => {
  put("worker/upload/a.ts", `import { hub } from "../testing/fake-hub.ts";\n`);
  put("worker/upload/a.test.ts", `import { hub } from "../testing/fake-hub.ts";\n`);
  put("worker/testing/fake-hub.ts", "");
  expect(upward()).toEqual(["worker/upload/a.ts -> worker/testing/fake-hub.ts"]);
});

test("finds a room without a tier", () => {
  put("worker/attic/a.ts", `import { b } from "../base/b.ts";\n`);
  put("worker/base/b.ts", "");
  expect(upward()).toEqual(["worker/attic/a.ts -> worker/base/b.ts"]);
});

test("finds rooms that import each other, and files in a circle by values but not by types", () => {
  put("server/core/nodes/a.ts", `import { b } from "../runs/b.ts";\n`);
  put("server/core/runs/b.ts", `import { type C, type D } from "../nodes/c.ts";\n`);
  put("server/core/nodes/c.ts", `import { a } from "./a.ts";\n`);
  const imports = readImports(root);
  expect(mutualPairs(imports)).toEqual(["server/core/nodes <-> server/core/runs"]);
  expect(findCircles(imports)).toEqual([["server/core/nodes/a.ts", "server/core/nodes/c.ts", "server/core/runs/b.ts"]]);
  expect(findCircles(imports.filter(({ isType }) => !isType))).toEqual([]);
});

test("finds the files that name most kinds of a list", () => {
  put("storage/all.ts", `const table = {\n  one: 1,\n  "two": 2,\n  three: 3,\n};\n`);
  put("storage/some.ts", `/** "one", "two" */\nconst one = "one";\n`);
  expect(findTables(root, ["one", "two", "three"])).toEqual(["storage/all.ts"]);
});

const house = (number: number, arrows: readonly string[]): House => ({
  numbers: { pairs: number },
  details: {},
  upward: arrows.map((arrow) => ({ from: arrow, to: "server/http/z.ts", isType: false, isLazy: false })),
});

test("a number that grew, a new exception and an old one that is gone are all told", () => {
  const baseline = { numbers: { pairs: 2 }, exceptions: ["a -> server/http/z.ts"] };
  expect(findWorse(house(2, ["a"]), baseline)).toEqual([]);
  expect(findWorse(house(3, ["b"]), baseline)).toHaveLength(3);
});

test("the baseline only shrinks", () => {
  const baseline = { numbers: { pairs: 2 }, exceptions: ["a -> server/http/z.ts"] };
  expect(shrink(house(1, []), baseline)).toEqual({ numbers: { pairs: 1 }, exceptions: [] });
  expect(shrink(house(3, ["a", "b"]), baseline)).toEqual(baseline);
});

test("finds sentences in comments without a subject, but no questions, tests or other words", () => {
  put(
    "worker/upload/a.ts",
    "/**\n * Sends a part. What\n * was sent is kept.\n */\n// Of two parts the later counts.\n// What is a part? That part.\nconst a = 1; // What\n",
  );
  put("worker/upload/a.test.ts", "// What a test says.\n");
  expect(findOddOpenings(root)).toEqual([
    "worker/upload/a.ts:1 What was sent is kept.",
    "worker/upload/a.ts:5 Of two parts the later counts.",
  ]);
});
