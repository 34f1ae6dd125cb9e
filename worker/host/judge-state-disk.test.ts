import { expect, test } from "vitest";
import { judgeFree } from "./judge-state-disk.ts";

const GIB = 1024 ** 3;
const disks = (stateBytes: number, watchedBytes: number) =>
  judgeFree({ state: "/var/lib/tidemark", watched: "/data/run", stateBytes, watchedBytes });

test("a small root disk beside a large volume is said, with both numbers and the flag that helps", () => {
  const found = disks(6 * GIB, 900 * GIB);
  expect(found?.says).toContain("900 GiB free");
  expect(found?.says).toMatch(/\b6(\.0+)? GiB free/);
  expect(found?.fix).toContain("--state /data/.tidemark-state");
});

test("a state folder with room, or no worse a place than the other, is not spoken of", () => {
  expect(disks(300 * GIB, 9_000 * GIB)).toBeNull();
  expect(disks(6 * GIB, 20 * GIB)).toBeNull();
});
