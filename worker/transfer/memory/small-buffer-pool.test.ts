import { expect, test } from "vitest";
import { createSmallBuffers } from "./small-buffer-pool.ts";

test("what came back is lent again, to whoever needs about as much", () => {
  const buffers = createSmallBuffers(1024 * 1024);
  const first = buffers.lend(65_000);
  expect(first.length).toBe(65_536);
  expect(buffers.lend(65_536)).not.toBe(first);
  buffers.takeBack(first);
  expect([buffers.lend(10), buffers.lend(40_000)]).not.toContain(first);
  expect(buffers.lend(62_000)).toBe(first);
  expect(buffers.lend(62_000)).not.toBe(first);
});

test("no more is kept than was allowed", () => {
  const buffers = createSmallBuffers(8192);
  const all = [4096, 4096, 4096].map((length) => buffers.lend(length));
  for (const buffer of all) buffers.takeBack(buffer);
  const again = [1, 2, 3].map((length) => buffers.lend(length));
  expect(again.filter((buffer) => all.includes(buffer))).toHaveLength(2);
});
