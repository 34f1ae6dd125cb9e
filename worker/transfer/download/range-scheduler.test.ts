import { crc32 } from "node:zlib";
import { describe, expect, test } from "vitest";
import { createSpanQueue } from "./range-scheduler.ts";
import type { Span } from "./span.ts";

const MIB = 1024 * 1024;
interface P {
  length: number;
  name: string;
  stepBytes?: number;
}
const about = { width: 4, now: 0, rttMs: 10, silentMs: 0, isHeld: false, isGrown: true, hasRoom: () => true };

const pieces = (...lengths: number[]): P[] => lengths.map((length, index) => ({ length, name: `piece ${index}` }));

function receive(span: Span<P>, bytes: number, at: number) {
  span.answeredAt ??= span.startedAt;
  span.received += bytes;
  span.movedAt = at;
}

/** Takes everything there is, in order, as one endless connection would. */
function drain(queue: ReturnType<typeof createSpanQueue<P>>, width: number): Span<P>[] {
  const all: Span<P>[] = [];
  for (;;) {
    const span = queue.take({ ...about, width });
    if (span === null) return all;
    receive(span, span.to - span.from, 0);
    queue.finish(span);
    all.push(span);
  }
}

describe("handing out", () => {
  test("covers every byte of every piece once, in order, whatever the width", () => {
    for (const width of [1, 3, 10, 96]) {
      const queue = createSpanQueue(pieces(8 * MIB, 8 * MIB, 5 * MIB + 7));
      const spans = drain(queue, width);
      for (const [name, length] of [
        ["piece 0", 8 * MIB],
        ["piece 1", 8 * MIB],
        ["piece 2", 5 * MIB + 7],
      ] as const) {
        const own = spans.filter((span) => span.of.piece.name === name);
        expect(own[0]?.from).toBe(0);
        for (const [index, span] of own.entries()) expect(span.from).toBe(own[index - 1]?.to ?? 0);
        expect(own.at(-1)?.to).toBe(length);
      }
      expect(queue.isDone).toBe(true);
    }
  });

  test("gives large spans while there is much, and smaller ones towards the end", () => {
    const queue = createSpanQueue(pieces(...Array.from({ length: 16 }, () => 8 * MIB)));
    const lengths = drain(queue, 8).map((span) => span.to - span.from);
    expect(lengths[0]).toBe(8 * MIB);
    expect(lengths.at(-1)).toBeLessThanOrEqual(2 * MIB);
  });

  test("a piece is finished with its last span, not before", () => {
    const queue = createSpanQueue(pieces(4 * MIB));
    const first = queue.take(about);
    const second = queue.take(about);
    if (first === null || second === null) throw new Error("two spans were expected");
    expect(queue.finish(second)).toBe(false);
    const rest: Span<P>[] = [];
    for (let span = queue.take({ ...about, width: 1 }); span !== null; span = queue.take({ ...about, width: 1 })) {
      rest.push(span);
    }
    for (const span of rest) expect(queue.finish(span)).toBe(false);
    expect(queue.isDone).toBe(false);
    expect(queue.finish(first)).toBe(true);
    expect(queue.isDone).toBe(true);
  });
});

describe("the end of a download", () => {
  const alone = (length: number) => {
    const queue = createSpanQueue(pieces(length));
    const span = queue.take({ ...about, width: 1 });
    if (span === null) throw new Error("a span was expected");
    return { queue, span };
  };

  test("gives about half of what the slowest connection still has to do to an idle one", () => {
    const { queue, span } = alone(8 * MIB);
    receive(span, 2 * MIB, 1_000);
    const given = queue.take({ ...about, now: 1_000 });
    expect(given?.to).toBe(8 * MIB);
    expect(given?.from).toBe(span.to);
    expect(span.to / MIB).toBeCloseTo(5, 1);
  });

  test("cuts no connection short while a limit is what holds them all, however long it rests", () => {
    const { queue, span } = alone(8 * MIB);
    receive(span, 2 * MIB, 1_000);
    expect(queue.take({ ...about, now: 1_000, isHeld: true })).toBeNull();
    expect(queue.take({ ...about, now: 60_000, isHeld: true })).toBeNull();
    expect(span.to).toBe(8 * MIB);
    expect(queue.take({ ...about, now: 1_000 })).not.toBeNull();
  });

  test("leaves a connection what it can do itself before another one could bring it", () => {
    const { queue, span } = alone(8 * MIB);
    receive(span, 2 * MIB, 1_000);
    for (let idle = 0; idle < 20; idle++) queue.take({ ...about, width: 40, now: 1_000, rttMs: 200 });
    // 2 MiB per second for a round trip and a quarter.
    expect((span.to - span.received) / MIB).toBeCloseTo(0.5, 0);
    expect(span.to).toBeGreaterThan(span.received);
  });

  describe("in all no more is given on than twice what was under way at first, however slow everything looks", () => {
    /** Every connection brings a byte each 100 ms, and one looks for something to do. */
    const giveAll = (queue: ReturnType<typeof alone>["queue"], first: Span<P>, fromMs: number) => {
      const spans = [first];
      let given = 0;
      for (let now = fromMs; now < fromMs + 60_000; now += 100) {
        for (const one of spans) receive(one, 1, now);
        const next = queue.take({ ...about, width: 96, now, rttMs: 1 });
        if (next === null) continue;
        given += next.to - next.from;
        spans.push(next);
      }
      return given;
    };

    test("and then nobody is wanted any more", () => {
      const { queue, span } = alone(8 * MIB);
      receive(span, 2 * MIB, 1_000);
      const given = giveAll(queue, span, 1_000);
      expect(given / (6 * MIB)).toBeGreaterThan(1.9);
      expect(given / (6 * MIB)).toBeLessThan(2.5);
      expect(queue.wantsMore({ now: 61_000, rttMs: 1, silentMs: 0, hasRoom: () => true })).toBe(false);
    });

    test("and anew when a piece has to come again", () => {
      const { queue, span } = alone(8 * MIB);
      receive(span, 2 * MIB, 1_000);
      giveAll(queue, span, 1_000);
      queue.startOver(span.of);
      const again = queue.take({ ...about, width: 1, now: 70_000 });
      if (again === null) throw new Error("a span was expected");
      receive(again, 2 * MIB, 71_000);
      expect(giveAll(queue, again, 71_000) / (6 * MIB)).toBeGreaterThan(1.9);
    });
  });

  test("cuts no connection to a near store short twice that brought nothing in between", () => {
    const { queue, span } = alone(8 * MIB);
    const near = { ...about, rttMs: 1 };
    receive(span, 2 * MIB, 1_000);
    expect(queue.take({ ...near, now: 1_000 })).not.toBeNull();
    expect(queue.take({ ...near, now: 1_010 })).toBeNull();
    receive(span, 1, 1_020);
    expect(queue.take({ ...near, now: 1_020 })).not.toBeNull();
  });

  test("nor one that was answered and has brought nothing of it", () => {
    const { queue, span } = alone(8 * MIB);
    receive(span, 2 * MIB, 100);
    Object.assign(span, { startedAt: 100, answeredAt: 200, before: 2 * MIB, movedAt: 200 });
    expect(queue.take({ ...about, now: 1_000 })).toBeNull();
  });

  test("takes no connection for slow because the store let it wait for its answer", () => {
    const { queue, span } = alone(8 * MIB);
    span.answeredAt = 9_000;
    receive(span, 2 * MIB, 9_001);
    expect(queue.take({ ...about, now: 9_001 })).toBeNull();
    // 40 MB more each second: the rest is there in 30 ms.
    receive(span, 5 * MIB, 9_120);
    expect(queue.take({ ...about, now: 9_120, rttMs: 12 })).toBeNull();
  });

  test("nor because of what an earlier request brought, in however long a time", () => {
    const { queue, span } = alone(8 * MIB);
    receive(span, MIB, 60_000);
    Object.assign(span, { startedAt: 60_000, answeredAt: null, before: MIB });
    expect(queue.take({ ...about, now: 60_050 })).toBeNull();
    receive(span, 6 * MIB, 60_110);
    expect(queue.take({ ...about, now: 60_110 })).toBeNull();
    expect(queue.take({ ...about, now: 61_000 })).not.toBeNull();
  });

  test("and takes one for slow that is, however much an earlier request brought", () => {
    const { queue, span } = alone(8 * MIB);
    receive(span, 7.5 * MIB, 100);
    Object.assign(span, { startedAt: 100, answeredAt: null, before: 7.5 * MIB });
    receive(span, 1_000, 200);
    expect(queue.take({ ...about, now: 200 })).not.toBeNull();
  });

  test("does not cut what is there before a new request could bring it", () => {
    const { queue, span } = alone(8 * MIB);
    receive(span, 7 * MIB, 1_000);
    expect(queue.take({ ...about, now: 1_000, rttMs: 100 })).toBeNull();
  });

  test("gives nothing to a connection that has to grow first, where that takes a while", () => {
    const { queue, span } = alone(8 * MIB);
    receive(span, 5 * MIB, 1_000);
    expect(queue.take({ ...about, now: 1_000, rttMs: 40, isGrown: false })).toBeNull();
    expect(span.to).toBe(8 * MIB);
    expect(queue.take({ ...about, now: 1_000, rttMs: 1, isGrown: false })).not.toBeNull();
  });

  test("but does where the rest would take longer than growing", () => {
    const { queue, span } = alone(8 * MIB);
    receive(span, 2 * MIB, 1_000);
    expect(queue.take({ ...about, now: 1_000, rttMs: 40, isGrown: false })).not.toBeNull();
    expect(span.to).toBeLessThan(8 * MIB);
  });

  test("and where losses hold connections down, so that a new one is as fast from its first round trip", () => {
    const { queue, span } = alone(2 * MIB);
    // 42 kB/s over 300 ms; four and a half seconds are left.
    receive(span, 2 * MIB - 190_000, 42_800);
    const late = { ...about, now: 42_800, rttMs: 300, isGrown: false };
    // On a full link they are as slow, and a new one only takes from them.
    expect(queue.take({ ...late, hasRoom: () => false })).toBeNull();
    expect(queue.take(late)).not.toBeNull();
    expect(span.to).toBeLessThan(2 * MIB);
  });

  test("one in its slow start is slow for a moment only", () => {
    const { queue, span } = alone(240_000);
    receive(span, 95_000, 2_200);
    expect(queue.take({ ...about, now: 2_200, rttMs: 300, isGrown: false })).toBeNull();
    receive(span, 10_000, 3_100);
    expect(queue.take({ ...about, now: 3_100, rttMs: 300, isGrown: false })).not.toBeNull();
  });

  test("what can only be cut between two steps is not wanted where there is no step left to cut at", () => {
    const queue = createSpanQueue([{ length: 256 * 1024, name: "sealed", stepBytes: 256 * 1024 }]);
    const span = queue.take({ ...about, width: 1 });
    if (span === null) throw new Error("a span was expected");
    receive(span, 10_000, 10_000);
    expect(queue.wantsMore({ ...about, now: 10_000 })).toBe(false);
    expect(queue.take({ ...about, now: 10_000 })).toBeNull();
  });

  test("wants one more connection while that would bring something sooner, and none at the very end", () => {
    const { queue, span } = alone(8 * MIB);
    const now = 1_000;
    receive(span, 2 * MIB, now);
    expect(queue.wantsMore({ ...about, now, rttMs: 40 })).toBe(true);
    expect(span.to).toBe(8 * MIB);
    receive(span, 5 * MIB, now);
    expect(queue.wantsMore({ ...about, now, rttMs: 40 })).toBe(false);
  });

  test("takes everything that is left from a connection that has fallen silent, and drops it", () => {
    const { queue, span } = alone(2 * MIB);
    expect(queue.take({ ...about, now: 1_000 })).toBeNull();
    let drops = 0;
    span.drop = () => drops++;
    receive(span, MIB + 1, 500);
    const rest = queue.take({ ...about, now: 2_500 });
    expect(rest?.from).toBe(MIB + 1);
    expect(rest?.to).toBe(2 * MIB);
    expect(span.to).toBe(MIB + 1);
    expect(drops).toBe(1);
  });

  test("tries one in the place of many silent ones, and more when it brings something", () => {
    const queue = createSpanQueue(pieces(2 * MIB, 2 * MIB, 2 * MIB, 2 * MIB, 2 * MIB));
    const silent = Array.from({ length: 5 }, () => queue.take(about));
    expect(silent).not.toContain(null);
    const first = queue.take({ ...about, now: 2_000 });
    expect(first).not.toBeNull();
    expect(queue.take({ ...about, now: 2_000 })).toBeNull();
    expect(queue.take({ ...about, now: 2_050 })).toBeNull();
    if (first !== null) receive(first, 2 * MIB, 2_100);
    expect(queue.take({ ...about, now: 2_100 })).not.toBeNull();
    expect(queue.take({ ...about, now: 2_100 })).not.toBeNull();
    expect(queue.take({ ...about, now: 2_100 })).toBeNull();
  });

  test("cuts none of them short instead, whatever they have brought before", () => {
    const queue = createSpanQueue(pieces(2 * MIB, 2 * MIB, 2 * MIB));
    for (let index = 0; index < 3; index++) {
      const span = queue.take(about);
      if (span !== null) receive(span, 1_000, 100);
    }
    expect(queue.take({ ...about, now: 2_000 })?.from).toBe(1_000);
    expect(queue.take({ ...about, now: 2_000 })).toBeNull();
  });

  test("waits three times as long as others of late, that were silent and went on", () => {
    const { queue } = alone(2 * MIB);
    expect(queue.take({ ...about, now: 2_900, silentMs: 1_000 })).toBeNull();
    expect(queue.take({ ...about, now: 3_100, silentMs: 1_000 })).not.toBeNull();
  });

  test("waits longer each time for a range that was taken over before, because then the link itself may be silent", () => {
    const { queue, span } = alone(2 * MIB);
    receive(span, MIB, 0);
    const second = queue.take({ ...about, now: 1_600 });
    expect(second).not.toBeNull();
    queue.finish(span);
    expect(queue.take({ ...about, now: 1_600 + 2_900 })).toBeNull();
    expect(queue.take({ ...about, now: 1_600 + 3_100 })).not.toBeNull();
  });
});

test("the sum of a piece is that of its bytes, however it was cut and in whatever order it came", () => {
  const bytes = Buffer.from(Array.from({ length: 4 * MIB }, (_, index) => (index * 31) % 251));
  const queue = createSpanQueue(pieces(bytes.length));
  const first = queue.take(about);
  const second = queue.take(about);
  const third = queue.take({ ...about, width: 1 });
  const all = [first, second, third].filter((span) => span !== null);
  for (const span of all.toReversed()) {
    const own = bytes.subarray(span.from, span.to);
    span.crc = crc32(own);
    receive(span, own.length, 0);
    queue.finish(span);
  }
  const rest = drain(queue, 1);
  for (const span of rest) span.crc = crc32(bytes.subarray(span.from, span.to));
  const of = first?.of;
  if (of === undefined) throw new Error("a span was expected");
  expect(queue.sumOf(of)).toBe(crc32(bytes).toString(16).padStart(8, "0"));
});

test("a piece that was wrong is handed out again from its beginning", () => {
  const queue = createSpanQueue(pieces(3 * MIB));
  const [span] = drain(queue, 1);
  if (span === undefined) throw new Error("a span was expected");
  expect(queue.startOver(span.of)).toBe(3 * MIB);
  expect(queue.isDone).toBe(false);
  expect(drain(queue, 1).map((again) => [again.from, again.to])).toEqual([[0, 3 * MIB]]);
  expect(queue.isDone).toBe(true);
});

describe("what is on its way already", () => {
  test("is not handed out again, and the rest around it is", () => {
    const [piece] = pieces(8 * MIB);
    if (piece === undefined) throw new Error("a piece was expected");
    const queue = createSpanQueue([piece]);
    const claimed = queue.claim(piece, { from: 3 * MIB, to: 5 * MIB, now: 0 });
    expect(claimed).toMatchObject({ from: 3 * MIB, to: 5 * MIB, received: 0 });
    expect(queue.claim(piece, { from: 4 * MIB, to: 6 * MIB, now: 0 })).toBeNull();
    const rest = drain(queue, 1);
    expect(rest.reduce((sum, { from, to }) => sum + to - from, 0)).toBe(6 * MIB);
    expect(rest.some(({ from, to }) => from < 5 * MIB && to > 3 * MIB)).toBe(false);
    expect(queue.isDone).toBe(false);
    if (claimed !== null) receive(claimed, 2 * MIB, 0);
    expect(claimed !== null && queue.finish(claimed)).toBe(true);
    expect(queue.isDone).toBe(true);
  });
});
