import { expect, test } from "vitest";
import { parseCommandLine } from "#worker/command-line/cli.ts";
import { resolveConfig } from "#worker/command-line/config.ts";
import { readFilter } from "./filter.ts";

const NOW = 1_000_000_000;
const HOUR = 3_600_000;

function taken(args: string[], rest: { env?: Record<string, string>; sizeBytes?: number; ageMs?: number } = {}) {
  const { command, flags, rules } = parseCommandLine(["cp", ...args]);
  const filter = readFilter(resolveConfig({ command, flags, rules, env: rest.env ?? {} }), NOW);
  return (relative: string) =>
    filter({ relative, sizeBytes: rest.sizeBytes ?? 5, modifiedAtMs: NOW - (rest.ageMs ?? HOUR) });
}

test("without rules everything is taken", () => {
  expect(taken([])("a")).toBe(true);
});

test("the first rule that matches decides, and --include and --exclude keep their order", () => {
  const first = taken(["--include", "keep.log", "--exclude", "*.log", "--include", "*"]);
  expect([first("keep.log"), first("other.log"), first("a.bin")]).toEqual([true, false, true]);
  const second = taken(["--exclude", "*.log", "--include", "keep.log"]);
  expect([second("keep.log"), second("a.bin")]).toEqual([false, true]);
});

test("with an --include first, all else is left out", () => {
  const filter = taken(["--include", "*.bin"]);
  expect([filter("a.bin"), filter("a.txt")]).toEqual([true, false]);
});

test("rules may come from the environment, and those left out win", () => {
  const filter = taken([], { env: { TIDEMARK_EXCLUDE: "*.log,*.tmp", TIDEMARK_INCLUDE: "a*" } });
  expect([filter("a.log"), filter("a.bin"), filter("b.tmp"), filter("b.bin")]).toEqual([false, true, false, true]);
});

test("sizes and ages bound what is taken, the bounds included", () => {
  expect(taken(["--min-size", "5"])("a")).toBe(true);
  expect(taken(["--min-size", "6"])("a")).toBe(false);
  expect(taken(["--max-size", "5"])("a")).toBe(true);
  expect(taken(["--max-size", "4"])("a")).toBe(false);
  expect(taken(["--min-age", "1h"])("a")).toBe(true);
  expect(taken(["--min-age", "2h"])("a")).toBe(false);
  expect(taken(["--max-age", "30m"])("a")).toBe(false);
});

test("without a bound, a file dated in the future is taken", () => {
  expect(taken([], { ageMs: -HOUR })("a")).toBe(true);
});

test("a glob that cannot be read is refused by its name", () => {
  expect(() => taken(["--exclude", "[a"])).toThrow("--exclude [a");
});
