import { expect, test } from "vitest";
import { createBuffers } from "./socket/buffers.ts";
import { Gather } from "./gather.ts";

const KIB = 1024;
const gatherOf = (mostBytes: number) =>
  new Gather(createBuffers({ sizeBytes: 512 * KIB, spare: 1 }), { now: () => 0, mostBytes });

test("as much as was said is filled before it is taken, and not more", () => {
  const gather = gatherOf(256 * KIB);
  expect(gather.room().length).toBe(256 * KIB);
  gather.add(200 * KIB);
  expect([gather.room().length, gather.roomBytes]).toEqual([56 * KIB, 56 * KIB]);
  expect(gather.copyIn(Buffer.alloc(100 * KIB), 0)).toBe(56 * KIB);
  gather.add(56 * KIB);
  expect([gather.roomBytes, gather.take()?.length]).toEqual([0, 256 * KIB]);
  expect(gather.room().length).toBe(256 * KIB);
});

test("a buffer holds no more than it is long, and copies go where the last ones ended", () => {
  const gather = gatherOf(Infinity);
  expect(gather.room().length).toBe(512 * KIB);
  gather.add(gather.copyIn(Buffer.from("one two"), 4));
  gather.add(gather.copyIn(Buffer.from(" three"), 0));
  expect(gather.take()?.toString()).toBe("two three");
  expect(gather.take()).toBeNull();
});
