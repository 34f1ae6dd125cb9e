import { describe, expect, it } from "vitest";
import { createPacer, paced } from "./pace.ts";

/** Time that passes only while somebody sleeps. */
function fakeClock() {
  let nowMs = 0;
  return {
    now: () => nowMs,
    sleep: (ms: number) => {
      nowMs += ms;
      return Promise.resolve();
    },
  };
}

async function* once(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
}

describe("a pacer", () => {
  it("lets as many bytes a second through as it was told, in small pieces", async () => {
    const clock = fakeClock();
    const pacer = createPacer(100_000, clock);
    const bytes = Buffer.alloc(500_000, 7);
    const pieces: Buffer[] = [];
    for await (const piece of paced(once(bytes), [pacer])) pieces.push(piece);
    expect(Buffer.concat(pieces).equals(bytes)).toBe(true);
    expect(clock.now()).toBeGreaterThan(4900);
    expect(clock.now()).toBeLessThan(5100);
    expect(Math.max(...pieces.map((piece) => piece.length))).toBeLessThanOrEqual(5000);
  });

  it("is shared by all that use it", async () => {
    const clock = fakeClock();
    const pacer = createPacer(1000, clock);
    for (let turn = 0; turn < 10; turn++) await pacer.take(1000);
    expect(clock.now()).toBeGreaterThan(9900);
  });

  it("lets nobody save up for a burst", async () => {
    const clock = fakeClock();
    const pacer = createPacer(1000, clock);
    await clock.sleep(60_000);
    await pacer.take(1000);
    expect(clock.now()).toBeGreaterThan(60_900);
  });
});
