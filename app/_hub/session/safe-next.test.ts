import { expect, test } from "vitest";
import { safeNext } from "./safe-next.ts";

test("paths of this hub are kept", () => {
  expect(safeNext("/runs/llama?show=torn")).toBe("/runs/llama?show=torn");
});

test("an address elsewhere becomes the overview", () => {
  for (const wanted of [
    null,
    "",
    "https://evil.example",
    "//evil.example",
    "/\\evil.example",
    "/\t/evil.example",
    "javascript:x",
  ])
    expect(safeNext(wanted)).toBe("/");
});
