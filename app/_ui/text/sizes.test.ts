import { afterEach, expect, test } from "vitest";
import { formatBytes, setSizeUnit, sizeBase } from "./sizes.ts";

afterEach(() => setSizeUnit("binary"));

test("sizes are said in the unit that was chosen", () => {
  expect([formatBytes(3.3e9), sizeBase()]).toEqual(["3.1 GiB", 1024]);
  setSizeUnit("decimal");
  expect([formatBytes(3.3e9), formatBytes(999_600), formatBytes(12), sizeBase()]).toEqual([
    "3.3 GB",
    "1.0 MB",
    "12 B",
    10,
  ]);
});
