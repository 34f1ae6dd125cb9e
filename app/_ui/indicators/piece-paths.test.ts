import { expect, test } from "vitest";
import { piecePaths } from "./piece-paths.ts";

test("a cell for each piece, with a gap between them", () => {
  const gap = 6 / 480;
  const cell = (x: number): string => `M${x} 0h${1 - gap}v10h-${1 - gap}z`;
  expect(piecePaths("##>")).toEqual({ "#": cell(0) + cell(1), ">": cell(2), "!": "", ".": "" });
});

test("what is tried again is cut in two, and a state that is not known waits", () => {
  expect(piecePaths("!")["!"]).toBe("M0 0h1v4h-1zM0 6h1v4h-1z");
  expect(piecePaths("?")).toEqual({ "#": "", ">": "", "!": "", ".": "M0 0h1v10h-1z" });
  expect(piecePaths("")).toEqual({ "#": "", ">": "", "!": "", ".": "" });
});

test("many pieces: neighbours in the same state are one block, each where it stands", () => {
  const paths = piecePaths(`${"#".repeat(80)}${".".repeat(60)}#`);
  expect(paths["#"]).toBe("M0 0h80v10h-80zM140 0h1v10h-1z");
  expect(paths["."]).toBe("M80 0h60v10h-60z");
});
