import { expect, test } from "vitest";
import { gather, mergePages } from "./gather.ts";
import type { Book, RecordedTrial } from "./record.ts";
import { markdownOf } from "./write-page.ts";

const trialOf = (about: Partial<RecordedTrial>): RecordedTrial => ({
  kind: "trial",
  program: "new",
  at: "2026-11-22T10:00:00.000Z",
  class: "killed",
  direction: "up",
  seed: 1,
  problems: [],
  faults: 1,
  ending: "exit 0",
  tookMs: 10,
  bytes: 100,
  resentBytes: 0,
  facts: {},
  replay: "again",
  ...about,
});

const bookOf = (trials: readonly RecordedTrial[], measures: Book["measures"] = []): Book => ({
  trials: [...trials],
  measures,
  add: () => undefined,
});

test("a class is told with what failed in it, and a kill with what was kept", () => {
  const page = gather(
    bookOf([
      trialOf({ facts: { acknowledgedParts: 10, resentParts: 1 } }),
      trialOf({ seed: 2, problems: ["it hung"], ending: "hang", facts: { acknowledgedParts: 10, resentParts: 0 } }),
    ]),
  );
  expect(page.classes).toMatchObject([
    { class: "killed", direction: "up", trials: 2, failed: 1, seeds: "1 to 2", endings: { "exit 0": 1, hang: 1 } },
  ]);
  expect(page.classes[0]?.reuse).toEqual({ kills: 2, acknowledged: 20, kept: 19 });
});

test("of two runs each class keeps the one that tried it more often, with its own program and date", () => {
  const old = { program: "old", at: "2026-11-20T10:00:00.000Z" };
  const earlier = gather(
    bookOf([
      trialOf({ ...old, seed: 1 }),
      trialOf({ ...old, seed: 2, problems: ["wrong"] }),
      trialOf({ ...old, direction: "down" }),
    ]),
  );
  const found = gather(bookOf([trialOf({}), trialOf({ direction: "down" })]));
  const merged = mergePages(found, earlier);
  expect(
    merged.classes.map(({ direction, program, date, trials, failed }) => [direction, program, date, trials, failed]),
  ).toEqual([
    ["up", "old", "2026-11-20", 2, 1],
    ["down", "new", "2026-11-22", 1, 0],
  ]);
});

test("of two runs each measure keeps the newer", () => {
  const measureOf = (name: string, program: string): Book["measures"][number] => ({
    kind: "measure",
    program,
    at: "2026-11-22T10:00:00.000Z",
    name,
    row: 3,
    says: name,
    runs: 1,
    problems: [],
    figures: [],
    command: name,
  });
  const earlier = gather(bookOf([], [measureOf("memory", "old"), measureOf("goodput", "old")]));
  const merged = mergePages(gather(bookOf([], [measureOf("memory", "new")])), earlier);
  expect(merged.measures.map(({ name, program }) => [name, program])).toEqual([
    ["memory", "new"],
    ["goodput", "old"],
  ]);
});

test("the page names the classes of a row that nobody tried", () => {
  const page = gather(bookOf([trialOf({ class: "portal" })]));
  const row = markdownOf(page, [])
    .split("\n")
    .find((line) => line.startsWith("| 10 |"));
  expect(row).toContain("1 transfers, 0 failed (portal)");
  expect(row).toMatch(/not run yet: false-200, portal-stays, /);
  expect(row).not.toMatch(/not run yet:[^|]*\bportal,/);
});
