import { expect, test } from "vitest";
import { createSpareCapacity } from "./spare-capacity.ts";

const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

/** A link whose next handshake takes what `link.presentMs` says, and a clock that is moved by hand. */
function openTrial(presentMs: number | null, leastMs: number | null = 100) {
  const link = { presentMs, handshakes: 0, now: 0, isDriven: false };
  const room = createSpareCapacity({
    clock: { now: () => link.now },
    httpClient: {
      rttMs: () => leastMs,
      measureRtt: () => {
        link.handshakes++;
        return Promise.resolve(link.presentMs);
      },
    },
    isDriven: () => link.isDriven,
  });
  return { link, room };
}

test("a link is free once a handshake met no queue, for a second", async () => {
  const { link, room } = openTrial(104);
  expect(room.isFree()).toBe(false);
  await settled();
  expect(room.isFree()).toBe(true);
  expect(link.handshakes).toBe(1);
  link.now = 1_000;
  expect(room.isFree()).toBe(false);
  await settled();
  expect(room.isFree()).toBe(true);
  expect(link.handshakes).toBe(2);
});

test("a link where a handshake waits is full, and is asked again until it does not", async () => {
  const { link, room } = openTrial(250);
  for (let look = 0; look < 3; look++) {
    expect(room.isFree()).toBe(false);
    await settled();
  }
  expect(link.handshakes).toBe(3);
  link.presentMs = 101;
  expect(room.isFree()).toBe(false);
  await settled();
  expect(room.isFree()).toBe(true);
});

test("one handshake is under way at a time", async () => {
  const { link, room } = openTrial(100);
  room.isFree();
  room.isFree();
  expect(link.handshakes).toBe(1);
  await settled();
});

test("where a handshake or the least trip is not known, nothing speaks against the link", async () => {
  for (const [presentMs, leastMs] of [
    [null, 100],
    [100, null],
  ] as const) {
    const { room } = openTrial(presentMs, leastMs);
    room.isFree();
    await settled();
    expect(room.isFree()).toBe(true);
  }
});

test("a link whose queue is kept empty by ourselves is full, whatever a handshake met", async () => {
  const { link, room } = openTrial(100);
  room.isFree();
  await settled();
  link.isDriven = true;
  expect(room.isFree()).toBe(false);
  link.isDriven = false;
  expect(room.isFree()).toBe(true);
});
