import { expect, test } from "vitest";
import { findCollision, foldName, runName, whyPathRefused } from "./names.ts";

test.each(["../x", "a/../b", "/etc/passwd", "a//b", "./a", "a/.", "", "a\u0000b", "a\nb", "x".repeat(256), "\ud800"])(
  "refuses the path %j",
  (path) => expect(whyPathRefused(path)).not.toBeNull(),
);

test.each(["a\\b", "C:/x", "a:b", "con", "src/aux.c", "trailing.", "trailing ", "NUL.txt"])(
  "takes %j, which is an ordinary name on Linux",
  (path) => expect(whyPathRefused(path)).toBeNull(),
);

test.each(["model.safetensors", "a/b/c.bin", ".metadata", "__0_0.distcp", "größe.pt", "epoch=1-step=500.ckpt"])(
  "accepts the path %j",
  (path) => expect(whyPathRefused(path)).toBeNull(),
);

test("finds names that are one file on a disk that folds case or composes accents", () => {
  expect(findCollision(["Model.bin", "model.bin"], foldName)).toEqual(["Model.bin", "model.bin"]);
  expect(findCollision(["e\u0301.pt", "\u00e9.pt"], foldName)).not.toBeNull();
});

test("names that differ in case or accents alone lie beside each other on Linux; a file and a folder of one name do not", () => {
  expect(findCollision(["README", "readme", "e\u0301.pt", "\u00e9.pt"])).toBeNull();
  expect(findCollision(["a", "a"])).toEqual(["a", "a"]);
  expect(findCollision(["a", "a/b"])).not.toBeNull();
  expect(findCollision(["a/b", "a/c"])).toBeNull();
});

test("a run name cannot climb, hide or grow", () => {
  for (const bad of ["", "..", ".hidden", "a/b", "a b", "x".repeat(65), "-x"]) {
    expect(runName.safeParse(bad).success).toBe(false);
  }
  expect(runName.safeParse("llama-8b_sft.2").success).toBe(true);
});
