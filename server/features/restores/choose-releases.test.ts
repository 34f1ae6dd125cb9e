import { describe, expect, test } from "vitest";
import { chooseReleases, type Waiting } from "./choose-releases.ts";

const one = (name: string, batchId: string, over: Partial<Waiting> = {}): Waiting => ({
  transferId: name,
  batchId,
  profileId: "bucket",
  nodeId: name,
  createdAt: 0,
  ...over,
});
const many = (count: number, batchId: string, over: Partial<Waiting> = {}) =>
  Array.from({ length: count }, (_, index) => one(`${batchId}-${index}`, batchId, over));

const choose = (changes: Partial<Parameters<typeof chooseReleases>[0]>) =>
  chooseReleases({
    waiting: [],
    moving: [],
    capOf: () => 4,
    servedAt: () => null,
    canHear: () => true,
    most: 100,
    now: 1_000,
    ...changes,
  }).map(({ transferId }) => transferId);

describe("the restores that start now", () => {
  test("are as many as the bucket profile has places left", () => {
    const moving = [
      { profileId: "bucket", nodeId: "x" },
      { profileId: "bucket", nodeId: "y" },
      { profileId: "other", nodeId: "z" },
    ];
    expect(choose({ waiting: many(9, "a"), moving })).toEqual(["a-0", "a-1"]);
    expect(choose({ waiting: many(9, "a"), most: 1 })).toEqual(["a-0"]);
    expect(choose({ waiting: many(9, "a"), capOf: () => 0 })).toEqual([]);
  });

  test("pass over nodes that are not heard, and nodes that have one already", () => {
    const waiting = [...many(3, "a"), one("again", "b", { nodeId: "a-2" })];
    const moving = [{ profileId: "bucket", nodeId: "a-0" }];
    expect(choose({ waiting, moving, canHear: (id) => id !== "a-1" })).toEqual(["a-2"]);
  });

  test("are taken from the requests in turn", () => {
    const waiting = [...many(5, "large"), one("small", "small", { createdAt: 5 })];
    expect(choose({ waiting })).toEqual(["large-0", "small", "large-1", "large-2"]);
  });

  test("never starve a request, however many come after it", () => {
    let large = many(20, "large");
    const servedAt = new Map<string, number>();
    const served: string[] = [];
    for (let now = 1; large.length > 0 && now < 100; now++) {
      // Every moment a new request of one node, and one place.
      const newer = Array.from({ length: 3 }, (_, index) =>
        one(`new-${now}-${index}`, `new-${now}-${index}`, { createdAt: now }),
      );
      const [next] = chooseReleases({
        waiting: [...large, ...newer],
        moving: [],
        capOf: () => 1,
        servedAt: (id) => servedAt.get(id) ?? null,
        canHear: () => true,
        most: 1,
        now,
      });
      if (next === undefined) throw new Error("nothing was chosen");
      served.push(next.batchId);
      servedAt.set(next.batchId, now);
      large = large.filter((waiting) => waiting !== next);
    }
    expect(large).toEqual([]);
  });
});
