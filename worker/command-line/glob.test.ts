import { expect, test } from "vitest";
import { compileGlob } from "./glob.ts";

const matches = (glob: string, path: string): boolean => {
  const compiled = compileGlob(glob);
  if ("reason" in compiled) throw new Error(compiled.reason);
  return compiled.matches(path);
};

test.each([
  ["*.bin", "a.bin", true],
  ["*.bin", "deep/down/a.bin", true],
  ["*.bin", "a.bin.txt", false],
  ["*.bin", "a/bin", false],
  ["/*.bin", "a.bin", true],
  ["/*.bin", "deep/a.bin", false],
  ["logs/*", "x/logs/a", true],
  ["logs/*", "logs/a/b", false],
  ["logs/*", "catalogs/a", false],
  ["logs/**", "logs/a/b", true],
  ["logs/", "logs/a/b", true],
  ["/logs/", "x/logs/a", false],
  ["**/a", "a", true],
  ["**/a", "x/y/a", true],
  ["x/**/a", "x/a", true],
  ["x/**/a", "x/y/z/a", true],
  ["/**", "any/thing", true],
  ["?.txt", "a.txt", true],
  ["?.txt", "ab.txt", false],
  ["[a-c]1", "b1", true],
  ["[!a-c]1", "b1", false],
  ["[!a-c]1", "x1", true],
  ["a[!b]c", "a/c", false],
  ["*.{pt,safetensors}", "m.safetensors", true],
  ["*.{pt,safetensors}", "m.pth", false],
  ["step-{1,2[0-9]}/*", "step-25/x", true],
  ["a+b(1).txt", "a+b(1).txt", true],
  ["a.b", "axb", false],
  ["\\*", "*", true],
  ["\\*", "a", false],
  ["größe-*", "größe-ü", true],
  ["?", "😀", true],
  ["*", "line\nbreak", true],
  ["a,b", "a,b", true],
])("%s on %s is %s", (glob, path, expected) => {
  expect(matches(glob, path)).toBe(expected);
});

test.each([
  ["[abc", "never closed"],
  ["{a,b", "never closed"],
  ["a\\", "backslash"],
  ["", "empty"],
])("%s is refused: %s", (glob, reason) => {
  expect(compileGlob(glob)).toMatchObject({ reason: expect.stringContaining(reason) });
});
