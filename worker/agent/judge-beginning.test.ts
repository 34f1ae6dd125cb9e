import { expect, test } from "vitest";
import { runName } from "#protocol/base/names.ts";
import type { NodeEventBody } from "#protocol/wire/reports.ts";
import type { Beginning } from "../lost-work/beginning.ts";
import { judgeBeginning, judgeWords } from "./judge-beginning.ts";

const run = runName.parse("story");

const WROTE = "/w/other/checkpoint-10";
const GIVEN = { step: 60, at: 600_000, epoch: 1, path: "/w/checkpoint-60" };

function parts(
  about: { local?: Beginning["local"]; firstSaid?: number | null; given?: Beginning["given"]; knows?: boolean } = {},
) {
  const { local = [{ step: 60, at: 600_000 }], firstSaid = null } = about;
  const events: NodeEventBody[] = [];
  const said: unknown[] = [];
  const { given = GIVEN, knows = true } = about;
  const beginnings = new Map([[run, { epoch: 2, given, local, startedAt: 700_000 }]]);
  const fake = {
    beginnings,
    session: { knows: () => knows },
    training: { said: () => firstSaid },
    ledger: { runStartedAt: async () => 100_000 },
    outbox: { add: async (event: NodeEventBody) => void events.push(event) },
    reporter: { lost: () => undefined, beganElsewhere: (about: unknown) => void said.push(about) },
  };
  return { events, said, parts: fake as unknown as Parameters<typeof judgeBeginning>[0] };
}

test("a program that writes a checkpoint below the one it was given began before it: what lies between is lost, once", async () => {
  const { events, said, parts: given } = parts();
  await judgeBeginning(given, run, { step: 10, by: "checkpoint", path: WROTE });
  await judgeBeginning(given, run, { step: 20, by: "checkpoint", path: WROTE });
  const told = { given: { epoch: 1, step: 60 }, fromStep: null, path: "/w/checkpoint-60", wrote: WROTE };
  expect(events).toEqual([
    { type: "began-elsewhere", run, writerEpoch: 2, ...told },
    expect.objectContaining({ type: "work-lost", fromStep: null, lastStep: 60, lostSteps: 60, lostMs: 500_000 }),
  ]);
  expect(said).toEqual([{ run, given: 60, from: null, path: "/w/checkpoint-60", wrote: WROTE }]);
  // An older hub does not know that event.
  const older = parts({ knows: false });
  await judgeBeginning(older.parts, run, { step: 10, by: "checkpoint", path: WROTE });
  expect(older.events.map(({ type }) => type)).toEqual(["work-lost"]);
});

test("what lay on its disk below that may be what it went on from", async () => {
  const local = [20, 40, 60].map((step) => ({ step, at: step * 10_000 }));
  const { events, parts: given } = parts({ local });
  await judgeBeginning(given, run, { step: 45, by: "checkpoint", path: WROTE });
  expect(events).toMatchObject([{ fromStep: 40 }, { fromStep: 40, lostSteps: 20, lostMs: 200_000 }]);
});

test.each([
  ["the next checkpoint is a later one", { step: 70, by: "checkpoint", path: WROTE } as const],
  ["the first word is the step it was given", { step: 60, by: "word" } as const],
  ["the first word is the next step", { step: 61, by: "word" } as const],
])("one that goes on lost nothing: %s", async (_, shown) => {
  const { events, said, parts: given } = parts();
  await judgeBeginning(given, run, shown);
  // What comes later in this life is no beginning.
  await judgeBeginning(given, run, { step: 5, by: "checkpoint", path: WROTE });
  expect([...events, ...said]).toEqual([]);
});

test("the record of a program is its first word", async () => {
  const { events, parts: given } = parts({ firstSaid: 1 });
  await judgeWords(given);
  expect(events).toMatchObject([{ type: "began-elsewhere" }, { lostSteps: 60 }]);
  const silent = parts({ firstSaid: null });
  await judgeWords(silent.parts);
  expect(silent.events).toEqual([]);
});

test("a checkpoint whose step is its time of writing is not compared with the steps that the program says", async () => {
  const at = Date.UTC(2026, 10, 30, 12);
  const given = { ...GIVEN, step: at / 1_000 - 40, at };
  const { events, said, parts: byTime } = parts({ given, local: [given], firstSaid: 50 });
  await judgeWords(byTime);
  await judgeBeginning(byTime, run, { step: 60, by: "checkpoint", path: WROTE });
  expect([...events, ...said]).toEqual([]);
  // So many steps are no time, and neither is a step of which the origin is known.
  for (const counted of [
    { ...given, step: 2_000_000_000 },
    { ...given, source: "inside" as const },
  ]) {
    const trained = parts({ given: counted, firstSaid: 50 });
    await judgeWords(trained.parts);
    expect(trained.events).toHaveLength(2);
  }
});

test("what a program that said a lower step wrote is told once it has written it", async () => {
  const { events, said, parts: given } = parts({ firstSaid: 0 });
  await judgeWords(given);
  await judgeWords(given);
  await judgeBeginning(given, run, { step: 10, by: "checkpoint", path: WROTE });
  await judgeBeginning(given, run, { step: 20, by: "checkpoint", path: "/w/other/checkpoint-20" });
  const about = { run, given: 60, from: null, path: "/w/checkpoint-60" };
  expect(said).toEqual([
    { ...about, wrote: null },
    { ...about, wrote: WROTE },
  ]);
  expect(events.filter(({ type }) => type === "began-elsewhere")).toMatchObject([{}, { wrote: WROTE, isAgain: true }]);
  expect(events.filter(({ type }) => type === "work-lost")).toHaveLength(1);
});
