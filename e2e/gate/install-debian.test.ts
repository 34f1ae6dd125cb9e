import { expect, test } from "vitest";
import { mirrorOf } from "./install-debian.ts";

test("packages come from where this machine has its own, in both forms that apt reads", () => {
  const table =
    "Types: deb\nURIs: http://near.example/debian-security\n\nTypes: deb\nURIs: http://near.example/debian\n";
  expect(mirrorOf(table)).toBe("http://near.example/debian");
  const lines =
    "# deb http://old.example/debian x main\ndeb [signed-by=/a/b] https://far.example/debian/ bookworm main\n";
  expect(mirrorOf(lines)).toBe("https://far.example/debian/");
  expect(mirrorOf("deb http://near.example/ubuntu jammy main")).toBeNull();
});
