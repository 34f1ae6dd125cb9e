import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createTailPacer, type TailPacer, type Place } from "./tail-pacer.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setImmediate", "performance"] });
});
afterEach(() => {
  vi.useRealTimers();
});

let drawn = 0;
/** Even, and the same each time. */
const clock = { now: () => performance.now(), random: () => (drawn++ * 0.618_034) % 1 };
const PART_BYTES = 3_000_000;
const BUFFER_BYTES = 250_000;
const STEP_MS = 5;

interface Line {
  /** Bytes per second. */
  carries: number;
  leastRttMs: number;
  isLast?: boolean;
  /** The convoy is asked, but what it says is not done. */
  isFree?: boolean;
  /** The sockets keep to a pace by themselves, and tell. */
  isPaced?: boolean;
  /** They were to be told a pace, but cannot. */
  isDeaf?: boolean;
  /** From one to the other, ms, nothing moves. */
  still?: readonly [fromMs: number, toMs: number];
}

interface Sailed {
  ends: number[];
  paces: number[];
  longestRttMs: number;
  mostAtOnce: number;
  handshakes: number;
  /** When the first one's socket was asked what it knows, ms. */
  askedAt: number[];
  /** While they were driven, ms. */
  drivenMs: number;
}

/**
 * Connections over one link with one queue, as fluids: each has so much under way as its window allows, and the queue makes
 * all round trips longer. Returns when each of them was through, in ms, and the most bytes that were given in one moment.
 */
async function sail(line: Line, windows: readonly number[]): Promise<Sailed> {
  const { carries, leastRttMs, isLast = true, isFree = false, isPaced = false, isDeaf = false, still = [0, 0] } = line;
  let queue = 0;
  let handshakes = 0;
  let drivenMs = 0;
  const askedAt: number[] = [];
  const rttMs = () => leastRttMs + (queue / carries) * 1000;
  const tailPacer: TailPacer = createTailPacer({
    clock,
    httpClient: {
      rttMs: () => leastRttMs,
      measureRtt: () => {
        handshakes++;
        return Promise.resolve(rttMs());
      },
    },
    isLast: () => isLast,
  });
  const ships = windows.map((window, at) => ({
    window,
    given: 0,
    gone: 0,
    pace: Infinity,
    /** Of a request that the same connection carried before. */
    goneBefore: at * 1_000,
    isAsking: false,
    endMs: 0,
    place: tailPacer.join(PART_BYTES),
  }));
  const startedAt = performance.now();
  if (isPaced) {
    for (const ship of ships) {
      ship.place.begins({
        pace: (bytesPerSecond) => {
          ship.pace = isFree || isDeaf ? Infinity : bytesPerSecond;
          return !isDeaf;
        },
        tcpInfo: () => {
          if (ship === ships[0]) askedAt.push(performance.now() - startedAt);
          return { ackedBytes: ship.goneBefore + ship.gone, rttMs: rttMs(), leastRttMs };
        },
      });
    }
  }
  const give = (ship: (typeof ships)[number], bytes: number) => {
    ship.given += bytes;
    ship.place.moved(bytes);
  };
  const load = (ship: (typeof ships)[number]) => {
    while (!ship.isAsking && ship.given < PART_BYTES && ship.given - ship.gone < BUFFER_BYTES) {
      const wanted = Math.min(64 * 1024, PART_BYTES - ship.given);
      const count = ship.place.take(wanted, () => {
        ship.isAsking = false;
        load(ship);
      });
      if (count > 0 || isFree) give(ship, count || wanted);
      else ship.isAsking = true;
    }
  };
  let longestRttMs = 0;
  let mostAtOnce = 0;
  while (ships.some(({ endMs }) => endMs === 0)) {
    let into = 0;
    const atMs = performance.now() - startedAt;
    const isStill = atMs >= still[0] && atMs < still[1];
    for (const ship of ships) {
      load(ship);
      const able = isStill ? 0 : Math.min((ship.window * STEP_MS) / rttMs(), (ship.pace * STEP_MS) / 1000);
      const out = Math.min(ship.given - ship.gone, able);
      ship.gone += out;
      into += out;
      if (ship.gone >= PART_BYTES && ship.endMs === 0) {
        ship.endMs = performance.now() - startedAt + rttMs();
        ship.place.leave();
      }
    }
    if (!isStill) queue = Math.max(0, queue + into - (carries * STEP_MS) / 1000);
    const before = ships.reduce((sum, { given }) => sum + given, 0);
    if (tailPacer.isDriving) drivenMs += STEP_MS;
    await vi.advanceTimersByTimeAsync(STEP_MS);
    const given = ships.reduce((sum, ship) => sum + ship.given, 0) - before;
    if (performance.now() - startedAt > 7_000) {
      longestRttMs = Math.max(longestRttMs, rttMs());
      mostAtOnce = Math.max(mostAtOnce, given);
    }
  }
  const [ends, paces] = [ships.map(({ endMs }) => endMs), ships.map(({ pace }) => pace)];
  return { ends, paces, longestRttMs, mostAtOnce, handshakes, askedAt, drivenMs };
}

/** As a lost packet in the first second leaves them. */
const UNEQUAL = Array.from({ length: 40 }, (_, at) => (at % 4 === 0 ? 45_000 : 90_000));
const spread = (ends: readonly number[]) => Math.max(...ends) - Math.min(...ends);
const LINE: Line = { carries: 12_000_000, leastRttMs: 100 };

test.each([
  ["bytes are counted out", LINE],
  ["sockets are told a pace", { ...LINE, isPaced: true }],
  ["sockets cannot be told a pace", { ...LINE, isPaced: true, isDeaf: true }],
])("parts that began together end together, and sooner, over a link whose queue is drained: %s", async (_, line) => {
  const alone = await sail({ ...line, isFree: true }, UNEQUAL);
  const together = await sail(line, UNEQUAL);
  expect(spread(alone.ends)).toBeGreaterThan(3_000);
  expect(spread(together.ends)).toBeLessThan(spread(alone.ends) / 4);
  expect(Math.max(...together.ends)).toBeLessThan(Math.max(...alone.ends));
  expect(alone.longestRttMs).toBeGreaterThan(210);
  expect(together.longestRttMs).toBeLessThan(180);
});

test("sockets that tell spare the handshakes, and are as free as before when they have carried their part", async () => {
  const { handshakes, paces } = await sail({ ...LINE, isPaced: true }, UNEQUAL);
  expect(handshakes).toBe(0);
  expect(paces.every((pace) => pace === Infinity)).toBe(true);
  expect((await sail(LINE, UNEQUAL)).handshakes).toBeGreaterThan(0);
});

test.each([1_500, 1_600, 1_700, 1_800, 1_900, 2_000])(
  "a link that stands still for a moment %i ms after the start is not taken for a slow one",
  async (fromMs) => {
    const line: Line = { ...LINE, isPaced: true };
    const straight = Math.max(...(await sail(line, UNEQUAL)).ends);
    const { ends } = await sail({ ...line, still: [fromMs, fromMs + 250] }, UNEQUAL);
    expect(Math.max(...ends)).toBeLessThan(straight + 1_000);
  },
);

test("what the link carries is not taken for less because one look saw less", async () => {
  const line: Line = { ...LINE, isPaced: true };
  const straight = Math.max(...(await sail(line, UNEQUAL)).ends);
  const later: number[] = [];
  for (let fromMs = 1_500; fromMs < 2_300; fromMs += 50) {
    const { ends } = await sail({ ...line, still: [fromMs, fromMs + 80] }, UNEQUAL);
    later.push(Math.max(...ends) - straight);
  }
  expect(Math.max(...later)).toBeLessThan(300);
});

test("they are driven from when the rate is known to their end, and not where nobody waits", async () => {
  const { ends, drivenMs } = await sail({ ...LINE, isPaced: true }, UNEQUAL);
  expect(drivenMs).toBeGreaterThan(Math.max(...ends) - 3_000);
  expect(drivenMs).toBeLessThan(Math.max(...ends) - 1_500);
  expect((await sail({ ...LINE, isPaced: true, isLast: false }, UNEQUAL)).drivenMs).toBe(0);
});

test("near by, sockets are asked half as often once it is known what the link carries", async () => {
  const near = UNEQUAL.map((window) => window * 0.3);
  const { askedAt } = await sail({ ...LINE, leastRttMs: 30, isPaced: true }, near);
  const during = (fromMs: number) => askedAt.filter((at) => at >= fromMs && at < fromMs + 600).length;
  expect([during(100), during(5_000)]).toEqual([6, 3]);
});

test("no more is given in one moment than a link carries in half a round trip", async () => {
  const { mostAtOnce } = await sail(LINE, UNEQUAL);
  expect(mostAtOnce).toBeGreaterThan(0);
  expect(mostAtOnce).toBeLessThan(LINE.carries * 0.05);
});

test.each([
  ["others wait for a place", { ...LINE, isLast: false }, UNEQUAL],
  ["the store is near", { carries: 12_000_000, leastRttMs: 4 }, UNEQUAL.map((window) => window / 25)],
  ["there are few of them", { carries: 1_200_000, leastRttMs: 100 }, [45_000, 90_000, 90_000]],
  ["others wait for a place, paced or not", { ...LINE, isLast: false, isPaced: true }, UNEQUAL],
] as const)("nobody waits where %s", async (_, line, windows) => {
  const free = await sail({ ...line, isFree: true }, windows);
  expect(await sail(line, windows)).toEqual(free);
});

test.each([
  ["bytes are counted out", false],
  ["sockets are told a pace", true],
])(
  "connections that losses hold back get no less than they can take, and the others the rest: %s",
  async (_, isPaced) => {
    const windows = Array.from({ length: 40 }, (_, at) => (at % 2 === 0 ? 8_000 : 14_000));
    const line: Line = { carries: 100_000_000, leastRttMs: 100, isPaced };
    const alone = await sail({ ...line, isFree: true }, windows);
    const together = await sail(line, windows);
    expect(Math.max(...together.ends)).toBeLessThanOrEqual(Math.max(...alone.ends) * 1.01);
  },
);

/** Ten that take what they get until each of them has to wait. */
async function waiting(presentRttMs: number) {
  const tailPacer = createTailPacer({
    clock,
    httpClient: { rttMs: () => 100, measureRtt: () => Promise.resolve(presentRttMs) },
    isLast: () => true,
  });
  const places: Place[] = Array.from({ length: 10 }, () => tailPacer.join(100_000_000));
  const calls = places.map(() => 0);
  const asleep = new Set<number>();
  /** Takes until there is nothing more. */
  const empty = (place: Place, index: number) => {
    const goOn = () => {
      calls[index] = (calls[index] ?? 0) + 1;
      asleep.delete(index);
      empty(place, index);
    };
    for (let count = 1, most = 4; count > 0 && most > 0; most--) {
      count = place.take(32 * 1024, goOn);
      place.moved(count);
      if (count > 0) continue;
      waits.add(index);
      asleep.add(index);
    }
  };
  const waits = new Set<number>();
  for (let step = 0; step < 400 && waits.size < places.length; step++) {
    for (const [index, place] of places.entries()) if (!waits.has(index)) empty(place, index);
    await vi.advanceTimersByTimeAsync(25);
  }
  expect(waits.size).toBe(places.length);
  return { places, calls, asleep };
}

test("who has to wait is called when there is something for it, and not any more when it has left", async () => {
  const { places, calls } = await waiting(300);
  const [left] = places;
  left?.leave();
  const before = [...calls];
  await vi.advanceTimersByTimeAsync(5_000);
  expect(calls[0]).toBe(before[0]);
  expect(calls[1]).toBeGreaterThan((before[1] ?? 0) + 5);
});

test("who waits among too few is called, and held back no more", async () => {
  const { places, asleep } = await waiting(100);
  expect(asleep.has(0)).toBe(true);
  for (const place of places.slice(3)) place.leave();
  await vi.advanceTimersByTimeAsync(1_000);
  for (const index of [0, 1, 2]) expect(asleep.has(index)).toBe(false);
  expect(places[0]?.take(10_000_000, () => undefined)).toBe(10_000_000);
});
