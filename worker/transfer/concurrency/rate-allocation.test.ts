import { expect, test } from "vitest";
import { pacesFor, startLinkRate, steer, type LinkRate, type LinkSample, type TailPart } from "./rate-allocation.ts";

const MB = 1_000_000;
const tailPart = (leftBytes: number, rate: number, wasHeld = false): TailPart => ({ leftBytes, rate, wasHeld });
const sum = (numbers: readonly number[]) => numbers.reduce((all, one) => all + one, 0);

test("each gets the rate at which all end together", () => {
  const all = [tailPart(4 * MB, 2 * MB), tailPart(2 * MB, 2 * MB), tailPart(3 * MB, 3 * MB)];
  const paces = pacesFor(all, { bytesPerSecond: 9 * MB, isQueued: true });
  expect(paces).toEqual([4 * MB, 2 * MB, 3 * MB]);
});

test("who cannot take its share goes as it can, and the others get the rest", () => {
  const all = [tailPart(3 * MB, 1 * MB), tailPart(3 * MB, 5 * MB), tailPart(3 * MB, 5 * MB)];
  const paces = pacesFor(all, { bytesPerSecond: 9 * MB, isQueued: false });
  expect(paces).toEqual([Infinity, 4 * MB, 4 * MB]);
});

test("behind a queue nobody is unable: the queue is what holds it back", () => {
  const all = [tailPart(3 * MB, 1 * MB), tailPart(3 * MB, 5 * MB), tailPart(3 * MB, 3 * MB)];
  expect(pacesFor(all, { bytesPerSecond: 9 * MB, isQueued: true })).toEqual([3 * MB, 3 * MB, 3 * MB]);
});

test("who was held says nothing of what it could do", () => {
  const all = [tailPart(3 * MB, 1 * MB, true), tailPart(3 * MB, 5 * MB)];
  expect(pacesFor(all, { bytesPerSecond: 6 * MB, isQueued: false })).toEqual([3 * MB, 3 * MB]);
});

test("one that is nearly there is not starved, and one that is there needs nothing", () => {
  const all = [tailPart(1_000, MB), tailPart(0, 0), tailPart(5 * MB, MB, true)];
  const [almost = 0, there] = pacesFor(all, { bytesPerSecond: 2 * MB, isQueued: true });
  expect(almost).toBe(0.4 * MB);
  expect(there).toBe(Infinity);
});

test("where nobody can take more, nobody is held", () => {
  const all = [tailPart(3 * MB, MB), tailPart(3 * MB, 1.1 * MB)];
  expect(pacesFor(all, { bytesPerSecond: 20 * MB, isQueued: false })).toEqual([Infinity, Infinity]);
  expect(pacesFor([], { bytesPerSecond: MB, isQueued: false })).toEqual([]);
});

const RATE = 18 * MB;
const start = () => startLinkRate({ at: 0, rate: RATE, counted: 40, rttMs: 100 });

/** As long as the looks say: what each of them gives. */
function follow(state: LinkRate, looks: readonly Partial<LinkSample>[]) {
  const given: { bytesPerSecond: number; phase: LinkRate["phase"]; carries: number }[] = [];
  for (const [index, look] of looks.entries()) {
    const answer = steer(state, {
      at: (index + 1) * 200,
      rate: RATE,
      usualRate: RATE,
      presentRttMs: 105,
      rttMs: 100,
      ...look,
    });
    state = answer.state;
    given.push({ bytesPerSecond: answer.bytesPerSecond, phase: state.phase, carries: state.carries });
  }
  return given;
}
const times = (count: number, look: Partial<LinkSample>): Partial<LinkSample>[] => Array(count).fill(look);

test("a queue is drained first, with much less than the link carries, and then only kept away", () => {
  const given = follow(start(), [...times(5, { presentRttMs: 210 }), ...times(5, {})]);
  expect(given.slice(0, 5).every(({ bytesPerSecond }) => bytesPerSecond === 0.65 * RATE)).toBe(true);
  expect(given.at(-1)?.phase).toBe("level");
  expect(given.at(-1)?.bytesPerSecond).toBeGreaterThan(0.95 * RATE);
});

test("draining ends when nothing can be left in buffers, whatever queue others keep; then it is left alone", () => {
  const given = follow(start(), times(60, { presentRttMs: 300 }));
  const level = given.findIndex(({ phase }) => phase === "level");
  const held = sum(given.slice(0, level).map(({ bytesPerSecond }) => ((RATE - bytesPerSecond) * 200) / 1000));
  expect(held).toBeLessThan(40 * 256 * 1024 + RATE * 0.1 + 0.35 * RATE * 0.2);
  expect(given[level]?.bytesPerSecond).toBeGreaterThan(0);
  expect(given.at(-1)).toMatchObject({ phase: "given up", bytesPerSecond: Infinity });
});

test("a link without any queue is asked for more; one that stays full never falls far below what it carried first", () => {
  const free = follow(start(), times(40, { presentRttMs: 101, rate: 2 * RATE }));
  expect(free.at(-1)?.carries).toBeGreaterThan(RATE * 1.2);
  const idle = follow(start(), times(40, { presentRttMs: 101, rate: RATE / 2 }));
  expect(idle.at(-1)?.carries).toBeLessThan(RATE * 1.05);
  const jitter = follow(start(), [
    {},
    ...Array.from({ length: 400 }, (_, at) => ({ presentRttMs: at % 8 === 0 ? 104 : 160 })),
  ]);
  expect(Math.min(...jitter.map(({ carries }) => carries))).toBeGreaterThanOrEqual(0.85 * RATE);
});

test("where a round trip cannot be told, the link gets what it carried", () => {
  const given = follow({ ...start(), phase: "level" }, times(20, { presentRttMs: null }));
  expect(given.every(({ bytesPerSecond }) => bytesPerSecond === RATE)).toBe(true);
});

test("where sockets keep a pace the queue goes in one step, and nothing more is held back before round trips can tell", () => {
  const paced = startLinkRate({ at: 0, rate: RATE, counted: 0, rttMs: 100 });
  const look = { rate: RATE, usualRate: RATE, rttMs: 100, presentRttMs: 190 };
  const first = steer(paced, { ...look, at: 200 });
  // 82 ms too many are to go in 200 ms, and not quite all of them.
  expect(first.bytesPerSecond).toBeGreaterThan(RATE * 0.65);
  expect(first.bytesPerSecond).toBeLessThan(RATE * 0.75);
  const second = steer(first.state, { ...look, at: 400 });
  expect(second.bytesPerSecond).toBe(RATE);
  const third = steer(second.state, { ...look, presentRttMs: 120, at: 600 });
  expect(third.state.phase).toBe("level");
  expect(third.bytesPerSecond).toBeGreaterThan(RATE * 0.95);
});

test("where a queue stands, what arrives is what the link carries: a first look that saw too much is corrected", () => {
  const high = startLinkRate({ at: 0, rate: 1.4 * RATE, counted: 0, rttMs: 100 });
  const given = follow(high, times(8, { presentRttMs: 180 }));
  const corrected = given.findIndex(({ carries }) => carries === RATE);
  expect(corrected).toBeGreaterThan(2);
  expect(corrected).toBeLessThan(7);
  expect(given[corrected]?.bytesPerSecond).toBe(0.9 * RATE);
  // The queue goes now, and is not taken for that of others.
  expect(follow(high, [...times(8, { presentRttMs: 180 }), ...times(20, {})]).at(-1)).toMatchObject({ phase: "level" });
});

test("what changes just now is not believed, nor is what arrives without a queue", () => {
  const high = startLinkRate({ at: 0, rate: 1.4 * RATE, counted: 0, rttMs: 100 });
  const stalled = follow(high, times(8, { presentRttMs: 180, rate: 0.8 * RATE }));
  expect(Math.min(...stalled.map(({ carries }) => carries))).toBeGreaterThan(1.3 * RATE);
  const free = follow(high, times(8, { presentRttMs: 112 }));
  expect(Math.min(...free.map(({ carries }) => carries))).toBeGreaterThan(1.3 * RATE);
});

test("a link that gives little for a moment is not taken for a slow one", () => {
  const link = startLinkRate({ at: 0, rate: RATE, counted: 0, rttMs: 100 });
  const dip = { presentRttMs: 400, rate: 0.2 * RATE, usualRate: 0.2 * RATE };
  const given = follow(link, [...times(6, {}), ...times(8, dip), ...times(20, {})]);
  expect(Math.min(...given.map(({ carries }) => carries))).toBeGreaterThanOrEqual(0.85 * RATE);
});

test("others who fill the link are not given way to without end", () => {
  const looks = Array.from({ length: 60 }, (_, at) => ({
    presentRttMs: 250,
    rate: RATE * 0.96 ** at,
    usualRate: RATE * 0.96 ** at,
  }));
  const given = follow(startLinkRate({ at: 0, rate: RATE, counted: 0, rttMs: 100 }), looks);
  expect(given.at(-1)).toMatchObject({ phase: "given up", bytesPerSecond: Infinity });
  expect(Math.min(...given.map(({ carries }) => carries))).toBeGreaterThan(0.59 * RATE);
});
