import { expect, test } from "vitest";
import { tensorPatterns } from "./tensor-choice.ts";
import { compileTensorPattern } from "./tensor-pattern.ts";

const NAMES = [
  "model.embed_tokens.weight",
  "model.layers.1.mlp.up_proj.weight",
  "model.layers.1.mlp.up_proj.bias",
  "model.layers.10.mlp.up_proj.weight",
  "lm_head.weight",
  "ünïcode.💾.weight",
];
function fitting(pattern: string): string[] {
  const compiled = compileTensorPattern(pattern);
  if ("reason" in compiled) throw new Error(compiled.reason);
  return NAMES.filter((name) => compiled.matches(name));
}

test("a name is itself, a star crosses dots, and a dot at the end means all below", () => {
  expect(fitting("lm_head.weight")).toEqual(["lm_head.weight"]);
  expect(fitting("model.embed_tokens.*")).toEqual(["model.embed_tokens.weight"]);
  expect(fitting("model.layers.1.")).toEqual(NAMES.slice(1, 3));
  expect(fitting("*.weight")).toHaveLength(5);
  expect(fitting("lm_head")).toEqual([]);
});

test("signs, classes and braces choose", () => {
  expect(fitting("model.layers.?.*")).toEqual(NAMES.slice(1, 3));
  expect(fitting("model.layers.1[0-9].*")).toEqual([NAMES[3]]);
  expect(fitting("model.layers.[!1]*")).toEqual([]);
  expect(fitting("{lm_head,model.{embed_tokens,norm}}.weight")).toEqual([
    "model.embed_tokens.weight",
    "lm_head.weight",
  ]);
  expect(fitting("ünïcode.?.weight")).toEqual(["ünïcode.💾.weight"]);
  expect(fitting("model.\\*")).toEqual([]);
});

test("what cannot be read is refused with its reason", () => {
  expect(compileTensorPattern("")).toEqual({ reason: "the pattern is empty" });
  expect(compileTensorPattern("a[b")).toEqual({ reason: "a [ is never closed" });
  expect(compileTensorPattern("a{b")).toEqual({ reason: "a { is never closed" });
  expect(compileTensorPattern("a\\")).toEqual({ reason: "it ends with a backslash" });
  expect(compileTensorPattern("{a,b}".repeat(9))).toEqual({ reason: "it stands for more than 256 patterns" });
  expect(tensorPatterns.safeParse(["ok", "a{b"]).error?.issues[0]?.message).toBe(
    "the pattern was refused: a { is never closed",
  );
});

test("a pattern made to be slow is walked within its length times that of the name", () => {
  const compiled = compileTensorPattern(`${"*a".repeat(200)}b`);
  if ("reason" in compiled) throw new Error(compiled.reason);
  const name = "a".repeat(1_024);
  // A regular expression of it would not end in the life of the machine.
  expect(compiled.matches(name)).toBe(false);
  expect(compiled.matches(`${name}b`)).toBe(true);
  const effort = { left: 10_000 };
  for (let names = 0; names < 1_000; names++) compiled.matches(name, effort);
  expect(effort.left).toBeLessThan(0);
});
