import { describe, expect, test } from "vitest";
import type { Case } from "./case.ts";
import type { Entry, Folder } from "./folders.ts";
import { findDifference, judgeEnd, judgeRestored } from "./judge.ts";

const one: Case = {
  name: "one",
  title: "One",
  packages: [],
  watches: "the folder",
  watch: "",
  script: "one.py",
  args: [],
  kills: [23, 33],
  older: /^checkpoint-(\d+)\//,
  named: [10],
};
const file = (content: string, writtenAt = 1_000): Entry => ({ kind: "file", content, sizeBytes: 1, writtenAt });
const folder = (entries: Record<string, Entry>): Folder => new Map(Object.entries(entries));
const training = (losses: number[], final: number | null = 7) => ({
  losses: new Map(losses.map((loss, at) => [at + 1, loss])),
  final,
});

describe("two trainings", () => {
  test("are equal to five digits, and no further", () => {
    expect(findDifference(training([0.5, 0.25]), training([0.500002, 0.25]))).toBeNull();
    expect(findDifference(training([0.5, 0.25]), training([0.5, 0.25003]))).toContain("loss of step 2");
  });
  test("differ where steps are missing, and where only the model at the end is another one", () => {
    expect(findDifference(training([0.5, 0.25]), training([0.5]))).toBe("step 2 was not trained");
    expect(findDifference(training([0.5]), training([0.5], 8))).toContain("another one");
  });
});

describe("what a new node finds", () => {
  const before = folder({
    "checkpoint-10/w": file("a"),
    "checkpoint-20/w": file("b"),
    "checkpoint-30/w": file("c"),
    latest: file("d"),
  });
  test("is right without what lies between the newest and what it names", () => {
    const now = folder({ "checkpoint-10/w": file("a"), "checkpoint-30/w": file("c"), latest: file("d") });
    expect(judgeRestored(one, before, now)).toEqual([]);
  });
  test("is wrong without the named one, a pointer, or the same bytes", () => {
    expect(judgeRestored(one, before, folder({ "checkpoint-30/w": file("x") }))).toEqual([
      "did not come back: checkpoint-10/w, latest",
      "came back changed: checkpoint-30/w",
    ]);
  });
  test("is wrong under another name, as another kind and with another time", () => {
    const link: Entry = { kind: "link", content: "d", sizeBytes: 1, writtenAt: 1_000 };
    const now = folder({
      "checkpoint-10/w": file("a"),
      "checkpoint-30/w": file("c", 90_000),
      "checkpoint-30/checkpoint-30/w": file("c"),
      latest: link,
    });
    expect(judgeRestored(one, before, now)).toEqual([
      "came back changed: latest (a link, it was a file)",
      "lie where nothing lay: checkpoint-30/checkpoint-30/w",
      "have another time: checkpoint-30/w",
    ]);
  });
});

test("at the end nothing is missing but what lies behind, and nothing is too many", () => {
  const wanted = folder({ "checkpoint-10/w": file("a"), "checkpoint-20/w": file("b"), "checkpoint-40/w": file("e") });
  const restored = folder({ "checkpoint-30/w": file("c") });
  const found = folder({ "checkpoint-40/w": file("f"), odd: file("g") });
  expect(judgeEnd(one, wanted, { found, restored })).toEqual([
    "missing at the end: checkpoint-10/w",
    "too many at the end: odd",
  ]);
});
