import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "./run-step.ts";
import { findNamed, listTestFiles, suitesOf } from "./test-files.ts";

test("every test file of the project belongs to one suite", () => {
  const all = listTestFiles();
  const files = Object.values(all).flat();
  expect(new Set(files).size).toBe(files.length);
  expect(all.process).toContain("server/main.test.ts");
  expect(all.unit).not.toContain("server/main.test.ts");
  for (const name of ["unit", "conformance", "process", "faults", "browser"] as const) {
    expect(all[name].length, name).toBeGreaterThan(0);
  }
});

test("a file or a folder is found in its suite, whichever suite that is", () => {
  const found = findNamed(["e2e/browser/06-invitation.spec.ts", "e2e/gate", "server/main.test.ts"]);
  expect(suitesOf(found)).toEqual(["unit", "process", "browser"]);
  expect(found.unit).toContain("e2e/gate/test-files.test.ts");
  expect(found.process).toEqual(["server/main.test.ts"]);
  expect(found.browser).toEqual(["e2e/browser/06-invitation.spec.ts"]);
});

test("no test that shares its process replaces a module: where another file imported it before, that has no effect", () => {
  const { unit, process } = listTestFiles();
  const replacing = [...unit, ...process].filter((file) =>
    /\bvi\.(mock|doMock|hoisted)\(/.test(readFileSync(join(ROOT, file), "utf8")),
  );
  expect(replacing).toEqual([]);
});

test("a path without tests, or that is not there, is refused with one sentence", () => {
  expect(() => findNamed(["e2e/gate/nothing"])).toThrow("There is no e2e/gate/nothing.");
  expect(() => findNamed(["public"])).toThrow("There is no test in public.");
  expect(() => findNamed(["server/main.ts"])).toThrow("is not a test");
});
