import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Fault } from "#protocol/faults/fault.ts";
import { createTimerCoalescer } from "#worker/base/timer-coalescer.ts";
import { createSemaphore } from "./semaphore.ts";
import { createHedges } from "./hedge.ts";
import { SHED, type Flight } from "./flight.ts";

const clock = { now: () => performance.now(), sleep: () => Promise.resolve(), random: () => 0.5 };
const { signal } = new AbortController();

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Flights that end when they are told to. */
function createTrial(
  options: { width?: number; mayRepeat?: boolean; isSmall?: boolean; isFull?: boolean; mayShed?: boolean } = {},
) {
  const { mayRepeat = true, isSmall = false, isFull = false, mayShed = true } = options;
  const semaphore = createSemaphore(options.width ?? 4);
  const meter = { totalBytes: 0 };
  const hedges = createHedges({
    clock,
    coalescer: createTimerCoalescer(),
    semaphore,
    meter,
    room: { isFree: () => !isFull },
  });
  interface Try {
    name: string;
    isHedge: boolean;
    signal: AbortSignal;
    onMoved(bytes: number): void;
    end: (result: string | Fault) => void;
  }
  const tries: Try[] = [];
  const fly = (name: string, lengthBytes = 100) => {
    const flight: Flight<string> = {
      signal,
      lengthBytes,
      isSmall,
      mayShed,
      mayRepeat: () => mayRepeat,
      attempt: (own) =>
        new Promise<string>((resolve, reject) => {
          own.signal.addEventListener("abort", () => reject(new Fault("CANCELLED")));
          const end = (result: string | Fault) => (typeof result === "string" ? resolve(result) : reject(result));
          tries.push({ name, ...own, end });
        }),
    };
    return semaphore.run({ signal, size: "large" }, () => hedges.run(flight));
  };
  const landSome = async (tookMs: number) => {
    for (let index = 0; index < 3; index++) {
      const flown = fly(`earlier ${index}`);
      await vi.advanceTimersByTimeAsync(tookMs);
      tries.at(-1)?.end("landed");
      await flown;
    }
    tries.length = 0;
  };
  return { hedges, semaphore, meter, fly, tries, landSome };
}

test("a part that takes far longer than its siblings took is sent a second time, and the faster one counts", async () => {
  const { fly, tries, landSome } = createTrial();
  await landSome(1_000);
  const slow = fly("slow");
  await vi.advanceTimersByTimeAsync(2_500);
  expect(tries).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(tries.map(({ isHedge }) => isHedge)).toEqual([false, true]);
  tries[1]?.end("second");
  await expect(slow).resolves.toBe("second");
  expect(tries[0]?.signal.aborted).toBe(true);
});

test("where equal bytes may have other ETags, nothing is sent twice", async () => {
  const { fly, tries, landSome } = createTrial({ mayRepeat: false });
  await landSome(1_000);
  const slow = fly("slow");
  await vi.advanceTimersByTimeAsync(10_000);
  expect(tries).toHaveLength(1);
  tries[0]?.end("done");
  await slow;
});

test("small files that are late are all sent again at once, as far as there are connections", async () => {
  const { fly, tries, landSome } = createTrial({ width: 5, isSmall: true });
  await landSome(200);
  const late = ["a", "b", "c"].map((name) => fly(name));
  await vi.advanceTimersByTimeAsync(500);
  expect(tries).toHaveLength(3);
  await vi.advanceTimersByTimeAsync(500);
  expect(tries.slice(3).map(({ name, isHedge }) => [name, isHedge])).toEqual([
    ["a", true],
    ["b", true],
  ]);
  for (const one of tries) one.end("done");
  await Promise.all(late);
});

test("the first try may still win, and the second one is dropped", async () => {
  const { fly, tries, landSome } = createTrial();
  await landSome(1_000);
  const slow = fly("slow");
  await vi.advanceTimersByTimeAsync(4_000);
  tries[0]?.end("first");
  await expect(slow).resolves.toBe("first");
  expect(tries[1]?.signal.aborted).toBe(true);
});

test("a failure of one leaves the other; two failures are the first one's", async () => {
  const { fly, tries, landSome } = createTrial();
  await landSome(1_000);
  const saved = fly("saved");
  await vi.advanceTimersByTimeAsync(4_000);
  tries[0]?.end(new Fault("LINK_DOWN"));
  tries[1]?.end("second");
  await expect(saved).resolves.toBe("second");

  const lost = fly("lost");
  const caught = lost.catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(4_000);
  expect(tries).toHaveLength(4);
  tries[3]?.end(new Fault("STALLED"));
  tries[2]?.end(new Fault("LINK_DOWN"));
  expect(await caught).toMatchObject({ code: "LINK_DOWN" });
});

test("nothing is sent twice while other parts wait for a connection", async () => {
  const { fly, tries, landSome } = createTrial({ width: 1 });
  await landSome(1_000);
  const slow = fly("slow");
  const next = fly("next");
  await vi.advanceTimersByTimeAsync(20_000);
  expect(tries).toHaveLength(1);
  tries[0]?.end("done");
  await slow;
  await vi.advanceTimersByTimeAsync(0);
  tries[1]?.end("done");
  await next;
});

test("nothing is sent twice while there is nothing to compare with, or only parts of another length", async () => {
  const { fly, tries, landSome } = createTrial();
  const first = fly("first", 700);
  await vi.advanceTimersByTimeAsync(30_000);
  expect(tries).toHaveLength(1);
  tries[0]?.end("done");
  await first;
  await landSome(100);
  const other = fly("other", 700);
  await vi.advanceTimersByTimeAsync(30_000);
  expect(tries).toHaveLength(1);
  tries[0]?.end("done");
  await other;
});

test("a part that is far slower than those beside it is begun anew, once, while little of it is gone", async () => {
  const { fly, tries } = createTrial({ width: 8 });
  const flights = Array.from({ length: 6 }, (_, index) => fly(`part ${index}`, 1_000));
  const beat = async (rates: readonly number[]) => {
    await vi.advanceTimersByTimeAsync(500);
    for (const [index, rate] of rates.entries()) tries[index]?.onMoved(rate);
  };
  for (let round = 0; round < 4; round++) await beat([100, 100, 100, 100, 100, 10]);
  await vi.advanceTimersByTimeAsync(250);
  expect(tries.map(({ name }) => name)).toEqual([...Array.from({ length: 6 }, (_, i) => `part ${i}`), "part 5"]);
  expect(tries[5]?.signal.aborted).toBe(true);
  for (let round = 0; round < 8; round++) await beat([50, 50, 50, 50, 50, 0]);
  expect(tries).toHaveLength(7);
  for (const one of tries) one.end("done");
  expect(await Promise.all(flights)).toEqual(Array.from({ length: 6 }, () => "done"));
});

test("a slow part of which much is gone goes on", async () => {
  const { fly, tries } = createTrial({ width: 8 });
  const flights = Array.from({ length: 6 }, (_, index) => fly(`part ${index}`, 1_000));
  for (const [index, one] of tries.entries()) one.onMoved(index === 5 ? 310 : 2_000);
  await vi.advanceTimersByTimeAsync(4_000);
  expect(tries).toHaveLength(6);
  for (const one of tries) one.end("done");
  await Promise.all(flights);
});

test("a part whose rest would take longer than all of it on the empty link is sent a second time", async () => {
  const { fly, tries, meter } = createTrial({ width: 8 });
  const flights = Array.from({ length: 4 }, (_, index) => fly(`part ${index}`, 1_000_000));
  const beat = async (rates: readonly number[]) => {
    await vi.advanceTimersByTimeAsync(250);
    for (const [index, bytes] of rates.entries()) {
      tries[index]?.onMoved(bytes);
      meter.totalBytes += bytes;
    }
  };
  for (let round = 0; round < 14; round++) await beat([70_000, 70_000, 70_000, 28_000]);
  for (const one of tries.slice(0, 3)) one.end("done");
  expect(tries).toHaveLength(4);
  for (let round = 0; round < 8; round++) await beat([0, 0, 0, 10_000]);
  expect(tries.map(({ name, isHedge }) => [name, isHedge]).slice(4)).toEqual([["part 3", true]]);
  tries[4]?.end("second");
  expect(await Promise.all(flights)).toEqual(["done", "done", "done", "second"]);
});

test("on a full link no part is sent for nothing: what is late or slow there takes from the others", async () => {
  const late = createTrial({ isFull: true });
  await late.landSome(1_000);
  const slow = late.fly("slow");
  await vi.advanceTimersByTimeAsync(10_000);
  expect(late.tries).toHaveLength(1);
  late.tries[0]?.end("done");
  await slow;

  const beside = createTrial({ width: 8, isFull: true });
  const flights = Array.from({ length: 6 }, (_, index) => beside.fly(`part ${index}`, 1_000));
  for (const [index, one] of beside.tries.entries()) one.onMoved(index === 5 ? 40 : 400);
  await vi.advanceTimersByTimeAsync(4_000);
  expect(beside.tries).toHaveLength(6);
  for (const one of beside.tries) one.end("done");
  await Promise.all(flights);
});

test("a small file is sent again on a full link too: it is little, and its packet is lost", async () => {
  const { fly, tries, landSome } = createTrial({ width: 5, isSmall: true, isFull: true });
  await landSome(200);
  const flown = fly("a");
  await vi.advanceTimersByTimeAsync(1_000);
  expect(tries).toHaveLength(2);
  tries[1]?.end("done");
  await flown;
});

test("of too many parts on a slow link those that moved least make room, and the others go on", async () => {
  const { hedges, semaphore, fly, tries } = createTrial({ width: 3 });
  const flown = ["most", "some", "least"].map((name) => fly(name));
  await vi.advanceTimersByTimeAsync(100);
  for (const [index, moved] of [50, 20, 10].entries()) tries[index]?.onMoved(moved);
  expect(hedges.lengthBytes()).toBe(100);
  hedges.shed(1);
  await expect(flown[1]).rejects.toBe(SHED);
  await expect(flown[2]).rejects.toBe(SHED);
  expect(semaphore.held).toBe(1);
  tries[0]?.end("landed");
  expect(await flown[0]).toBe("landed");
  expect(hedges.lengthBytes()).toBeNull();
});

test("what may not make room is neither shed nor counted among what would have to go again", async () => {
  const { hedges, fly, tries } = createTrial({ mayShed: false });
  const flown = fly("whole");
  await vi.advanceTimersByTimeAsync(0);
  expect(hedges.lengthBytes()).toBeNull();
  hedges.shed(0);
  tries[0]?.end("landed");
  await expect(flown).resolves.toBe("landed");
});

test("a small file that somebody else sends is told to go again when it is late, once, and teaches how long one takes", async () => {
  const { hedges, semaphore } = createTrial();
  const told: string[] = [];
  const follow = (name: string) =>
    hedges.follow({
      lengthBytes: 100,
      mayRepeat: () => true,
      hedge: () => void told.push(`${name} again`),
      shed: () => void told.push(`${name} shed`),
    });
  for (let before = 0; before < 3; before++) {
    const following = follow("earlier");
    await vi.advanceTimersByTimeAsync(200);
    following.leave(true);
  }
  const late = follow("late");
  await vi.advanceTimersByTimeAsync(500);
  expect(told).toEqual([]);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(told).toEqual(["late again"]);
  late.leave(true);
  const gone = follow("gone");
  gone.moved(100);
  follow("waiting").moved(99);
  expect(hedges.lengthBytes()).toBe(100);
  hedges.shed(0);
  expect(told.slice(1)).toEqual(["waiting shed"]);
  expect(semaphore.held).toBe(0);
});

test("parts are looked at half as often once none of them may be begun anew any more", async () => {
  const { meter, fly, tries } = createTrial({ width: 6 });
  let looks = 0;
  Object.defineProperty(meter, "totalBytes", {
    get: () => {
      looks++;
      return 0;
    },
  });
  // Looks come at beats.
  await vi.advanceTimersByTimeAsync(1_000 - (performance.now() % 1_000));
  const flown = Array.from({ length: 6 }, (_, index) => fly(`part ${index}`));
  const looksOfASecond = async () => {
    const before = looks;
    await vi.advanceTimersByTimeAsync(1_000);
    return looks - before;
  };
  expect(await looksOfASecond()).toBe(8);
  for (const one of tries) one.onMoved(50);
  await vi.advanceTimersByTimeAsync(250);
  expect(await looksOfASecond()).toBe(4);
  for (const one of tries) one.end("landed");
  await Promise.all(flown);
});
