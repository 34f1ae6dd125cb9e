import { describe, expect, it } from "vitest";
import { afterPrefix, walkKeys, type Seek } from "./walk-keys.ts";

const byBytes = (left: string, right: string): number => Buffer.compare(Buffer.from(left), Buffer.from(right));

function walk(keys: readonly string[], asked: { prefix?: string; delimiter?: string; limit?: number; start?: Seek }) {
  const sorted = keys.toSorted(byBytes);
  const page = walkKeys<string>({
    prefix: asked.prefix ?? "",
    delimiter: asked.delimiter ?? "",
    limit: asked.limit ?? 1000,
    start: asked.start,
    scan: (seek) =>
      sorted.filter((key) => (seek.mode === "at" ? byBytes(key, seek.key) >= 0 : byBytes(key, seek.key) > 0)),
    keyOf: (key) => key,
  });
  const names = page.entries.map((entry) => (entry.kind === "row" ? entry.row : `[${entry.prefix}]`));
  return { names, truncated: page.truncated, rowsVisited: page.rowsVisited };
}

describe("a walk over keys", () => {
  it("leaves a common prefix with one look, however many keys lie under it", () => {
    const many = Array.from({ length: 5000 }, (_, index) => `run/${index}`);
    const { names, rowsVisited } = walk(["a", ...many, "z"], { delimiter: "/" });
    expect(names).toEqual(["a", "[run/]", "z"]);
    expect(rowsVisited).toBeLessThanOrEqual(4);
  });

  it("looks at one row more than it gives, to know whether more follows", () => {
    const keys = ["a", "b", "c", "d"];
    expect(walk(keys, { limit: 3 })).toEqual({ names: ["a", "b", "c"], truncated: "more", rowsVisited: 4 });
    expect(walk(keys, { limit: 4 })).toEqual({ names: keys, truncated: "end", rowsVisited: 4 });
    expect(walk(keys, { limit: 0 })).toEqual({ names: [], truncated: "end", rowsVisited: 0 });
  });

  it("says that it is at the end when only the last common prefix goes on", () => {
    expect(walk(["a/1", "a/2", "a/3"], { delimiter: "/", limit: 1 }).truncated).toBe("end");
  });

  it("stays under its prefix", () => {
    const keys = ["a", "b/1", "b/2", "b0", "c"];
    expect(walk(keys, { prefix: "b/" }).names).toEqual(["b/1", "b/2"]);
    expect(walk(keys, { prefix: "b/", start: { key: "a", mode: "after" } }).names).toEqual(["b/1", "b/2"]);
    expect(walk(keys, { prefix: "b/", start: { key: "z", mode: "after" } }).names).toEqual([]);
  });

  it("takes any text as a delimiter", () => {
    expect(walk(["x--a", "x--b", "y"], { delimiter: "--" }).names).toEqual(["[x--]", "y"]);
  });
});

describe("the text after a prefix", () => {
  it.each(["a", "a/", "é/", "🌊", "a\uD7FF", "a\u{10FFFF}", "\uFFFF"])("sorts after everything under %j", (prefix) => {
    const next = afterPrefix(prefix) ?? "";
    for (const rest of ["", "a", "zzz", "\u{10FFFF}\u{10FFFF}"]) expect(byBytes(prefix + rest, next)).toBeLessThan(0);
    expect(next.startsWith(prefix)).toBe(false);
  });

  it("does not exist when nothing can sort after it", () => {
    expect(afterPrefix("\u{10FFFF}")).toBeUndefined();
    expect(afterPrefix("")).toBeUndefined();
  });
});
