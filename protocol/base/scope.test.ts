import { expect, it } from "vitest";
import { EVERYWHERE, fitsNode, fitsPattern, scope } from "./scope.ts";

it.each([
  ["gpu-7", "gpu-*", true],
  ["gpu-7", "gpu-?", true],
  ["gpu-77", "gpu-?", false],
  ["cpu-7", "gpu-*", false],
  ["gpu-eu-7", "*-eu-*", true],
  ["gpu-eu", "*-eu-*", false],
  ["a.b", "a?b", true],
  ["aXb", "a.b", false],
  ["gpu", "gpu", true],
  ["gpu", "*", true],
])("%s and the pattern %s: %s", (name, pattern, fits) => {
  expect(fitsPattern(name, pattern)).toBe(fits);
});

it("a pattern of many stars is answered at once", () => {
  expect(fitsPattern("a".repeat(64), `${"*a".repeat(60)}*b`)).toBe(false);
});

it("a node has to carry every label that is named", () => {
  const node = { name: "gpu-1", facts: { labels: { region: "eu", tier: "spot" } } };
  expect(fitsNode(node, EVERYWHERE)).toBe(true);
  expect(fitsNode(node, scope.parse({ labels: { region: "eu" } }))).toBe(true);
  expect(fitsNode(node, scope.parse({ labels: { region: "eu", tier: "own" } }))).toBe(false);
});
