import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { distancesTo, readImportGraph } from "./import-graph.ts";

let root = "";
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "graph-"));
});
afterEach(() => rmSync(root, { recursive: true }));

function write(file: string, text: string): void {
  mkdirSync(dirname(join(root, file)), { recursive: true });
  writeFileSync(join(root, file), text);
}

test("a test is as far from a change as there are imports between them", () => {
  write("protocol/a.ts", "export const a = 1;");
  write("server/b.ts", 'import { a } from "#protocol/a.ts";\nexport const b = a;');
  write("server/b.test.ts", 'import { b } from "./b.ts";');
  write("server/c.test.ts", 'export { d } from "./d.ts";');
  write("server/d.ts", 'export const d = () => import("./e.ts");');
  write("server/e.ts", "export {};");
  const graph = readImportGraph(root);
  const near = distancesTo(["protocol/a.ts"], graph);
  expect(Object.fromEntries(near)).toEqual({ "protocol/a.ts": 0, "server/b.ts": 1, "server/b.test.ts": 2 });
  expect(distancesTo(["server/e.ts"], graph).get("server/c.test.ts")).toBe(2);
});

test("a file that lies beside a program and is named by it counts as imported", () => {
  write("e2e/stage/training.py", "print()");
  write("e2e/stage/train.ts", 'export const path = join(import.meta.dirname, "training.py");');
  expect(distancesTo(["e2e/stage/training.py"], readImportGraph(root)).get("e2e/stage/train.ts")).toBe(1);
});

test("a change of what is imported as a type alone reaches nobody", () => {
  write("server/router.ts", "export type Router = 1;");
  write("e2e/stage/client.ts", 'import type { Router } from "#server/router.ts";');
  expect(distancesTo(["server/router.ts"], readImportGraph(root)).size).toBe(1);
});

test("a change that no file imports reaches itself alone", () => {
  write("protocol/a.ts", "export {};");
  expect([...distancesTo(["README.md"], readImportGraph(root)).keys()]).toEqual(["README.md"]);
});
