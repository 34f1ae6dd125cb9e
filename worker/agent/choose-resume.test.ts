import { describe, expect, test } from "vitest";
import { chooseResume, movedWith, type LocalCheckpoint, type ResumeInput } from "./choose-resume.ts";

const newest = { checkpointId: "safe-500", step: 500, capturedAt: 7_000 };
const at = (step: number, about: Partial<LocalCheckpoint> = {}): LocalCheckpoint => ({
  path: `/work/checkpoint-${step}`,
  step,
  fingerprint: String(step),
  state: "whole",
  content: "framework",
  writtenAt: 8_000,
  appearedAt: about.writtenAt ?? 8_000,
  isKnown: false,
  stepSource: "name",
  ...about,
});
const known = { isKnown: true };
const torn = { state: "torn" } as const;
const doubtful = { state: "doubtful" } as const;

const choose = (about: Partial<ResumeInput>) =>
  chooseResume({
    newest,
    isSameEpoch: true,
    isFirstStart: false,
    since: 7_500,
    parentStep: null,
    choice: { kind: "newest" },
    local: [],
    ...about,
  });

describe("on a new machine", () => {
  test("the newest safe one is restored", () => {
    const { from, setAside, left } = choose({ isSameEpoch: false });
    expect(from).toEqual({ kind: "restore", ...newest });
    expect([...setAside, ...left]).toEqual([]);
  });

  test("with none anywhere it starts from the beginning", () => {
    expect(choose({ newest: null }).from).toEqual({ kind: "start" });
  });
});

describe("on the machine that wrote last", () => {
  test("a newer whole one on the disk wins", () => {
    const { from, setAside } = choose({ local: [at(500, known), at(600)] });
    expect(from).toEqual({ kind: "local", path: "/work/checkpoint-600", step: 600, source: "name" });
    expect(setAside).toEqual([]);
  });

  test("a torn one is never taken, and does not stay where the program would take it", () => {
    const { from, setAside } = choose({ local: [at(500, known), at(600, torn)] });
    expect(from).toEqual({ kind: "local", path: "/work/checkpoint-500", step: 500, source: "name" });
    expect(setAside).toEqual([at(600, torn)]);
  });

  test("a higher step that was written before the newest belongs to an earlier line, and does not win", () => {
    const before = at(900, { ...known, writtenAt: 3_000 });
    const { from, setAside } = choose({ local: [at(500, known), before] });
    expect(from).toEqual({ kind: "local", path: "/work/checkpoint-500", step: 500, source: "name" });
    expect(setAside).toEqual([before]);
  });

  test("older ones on the disk do not win over what is safe", () => {
    expect(choose({ local: [at(400)] }).from).toEqual({ kind: "restore", ...newest });
  });

  test("nothing safe yet: what lies there is gone on from", () => {
    const { from } = choose({ newest: null, isSameEpoch: false, local: [at(100), at(200, torn)] });
    expect(from).toEqual({ kind: "local", path: "/work/checkpoint-100", step: 100, source: "name" });
  });

  test("nothing safe and only a torn one: it starts from the beginning, without it", () => {
    const { from, setAside } = choose({ newest: null, local: [at(0, torn)] });
    expect(from).toEqual({ kind: "start" });
    expect(setAside).toEqual([at(0, torn)]);
  });
});

describe("where a format does not say whether it is finished", () => {
  test("the newest is set aside, as its program may have been killed in the middle", () => {
    const { from, setAside } = choose({ newest: null, local: [at(400), at(500, doubtful)] });
    expect(from).toEqual({ kind: "local", path: "/work/checkpoint-400", step: 400, source: "name" });
    expect(setAside).toEqual([at(500, doubtful)]);
  });

  test("but one from before Tidemark is gone on from when nothing is safe yet", () => {
    const about = { isSameEpoch: false, isFirstStart: true, local: [at(400), at(500, doubtful)] };
    const { from, setAside } = choose({ ...about, newest: null });
    expect(from).toEqual({ kind: "local", path: "/work/checkpoint-500", step: 500, source: "name" });
    expect(setAside).toEqual([]);
    expect(choose(about).from.kind).toBe("restore");
  });
});

describe("after another machine took the run over", () => {
  test("what was written here before counts no more, however high its step", () => {
    const { from, setAside } = choose({ isSameEpoch: false, local: [at(900)] });
    expect(from).toEqual({ kind: "restore", ...newest });
    expect(setAside).toEqual([at(900)]);
  });

  test("but what is the very same as the safe one need not be fetched again", () => {
    const { from, setAside } = choose({ isSameEpoch: false, local: [at(500, known), at(900)] });
    expect(from).toEqual({ kind: "local", path: "/work/checkpoint-500", step: 500, source: "name" });
    expect(setAside).toEqual([at(900)]);
  });
});

describe("what this run did not write stays where it is", () => {
  test.each<[string, Partial<LocalCheckpoint>]>([
    ["a folder in an unknown format", { content: "opaque" }],
    ["a folder in a format that holds data as well", { content: "container" }],
    ["a torn checkpoint from before this run was watched", { ...torn, writtenAt: 7_000 }],
    ["a whole checkpoint from before this run was watched", { writtenAt: 7_000 }],
    ["an empty folder from before this run was watched", { ...torn, content: "empty", writtenAt: 7_000 }],
  ])("%s", (_, about) => {
    const { from, setAside, left } = choose({ isSameEpoch: false, local: [at(900, about)] });
    expect(from.kind).toBe("restore");
    expect(setAside).toEqual([]);
    expect(left).toEqual([at(900, about)]);
  });

  test("what was captured or restored here may be moved whatever its format and age", () => {
    const old = at(900, { ...known, content: "opaque", writtenAt: 1 });
    expect(choose({ isSameEpoch: false, local: [old] }).setAside).toEqual([old]);
  });

  test("one that says itself that its weights are still to come may be moved, other text may not", () => {
    const begun = at(900, { ...torn, content: "text" });
    expect(choose({ local: [at(500, known), begun] }).setAside).toEqual([begun]);
    const notes = at(900, { content: "text" });
    expect(choose({ local: [at(500, known), notes], isSameEpoch: false }).left).toEqual([notes]);
  });

  test("a torn copy that keeps old dates may be moved when it came to this disk since", () => {
    const copied = at(900, { ...torn, writtenAt: 1, appearedAt: 8_000 });
    expect(choose({ local: [at(500, known), copied] }).setAside).toEqual([copied]);
  });

  test("an empty folder that its program had just made may be moved", () => {
    const begun = at(900, { ...torn, content: "empty" });
    expect(choose({ local: [at(500, known), begun] }).setAside).toEqual([begun]);
  });
});

describe("where a person chooses", () => {
  const local = [at(500, known), at(600), at(700, known)];

  test("the bucket's newest is gone on from, and newer ones on this disk are moved away", () => {
    const { from, setAside } = choose({ choice: { kind: "bucket" }, local });
    expect(from).toEqual({ kind: "local", path: "/work/checkpoint-500", step: 500, source: "name" });
    expect(setAside).toEqual([at(600), at(700, known)]);
  });

  test("the beginning leaves nothing of the run in sight", () => {
    const { from, setAside, left } = choose({
      choice: { kind: "beginning" },
      newest: null,
      local: [...local, at(800, { content: "opaque" })],
    });
    expect(from).toEqual({ kind: "start" });
    expect(setAside).toEqual(local);
    expect(left).toEqual([at(800, { content: "opaque" })]);
  });

  test("a step that is not on this disk is fetched", () => {
    const chosen = { ...newest, step: 300 };
    const { from, setAside } = choose({ choice: { kind: "bucket" }, newest: chosen, local });
    expect(from).toEqual({ kind: "restore", ...chosen });
    expect(setAside).toEqual(local);
  });
});

describe("several files that are one checkpoint", () => {
  const names = ["model_600.pt", "optim_600.pt", "last.pt", "best.pt"];
  const set = at(600, { names });

  test("are moved together, and a label with them where the program begins anew or gets another one", () => {
    expect(movedWith(set, "start")).toEqual(names);
    expect(movedWith(set, "restore")).toEqual(["model_600.pt", "optim_600.pt", "last.pt"]);
    expect(movedWith(set, "local")).toEqual(["model_600.pt", "optim_600.pt"]);
    expect(movedWith(at(600), "start")).toBeNull();
  });

  test("data beside a model that is written in place stays, wherever the program goes on from", () => {
    const state = at(600, {
      names: ["features.npz", "last.pt", "model.pt", "vocab.json"],
      data: ["features.npz", "vocab.json"],
    });
    expect(movedWith(state, "start")).toEqual(["last.pt", "model.pt"]);
    expect(movedWith(state, "restore")).toEqual(["last.pt", "model.pt"]);
  });

  test("a label by itself is moved wherever the program goes on from", () => {
    expect(movedWith(at(600, { names: ["last.pt", "best.pt"] }), "local")).toEqual(["last.pt"]);
  });
});

describe("what an earlier epoch left on this disk", () => {
  const parentStep = newest.step;
  const below = at(newest.step - 100);

  test("is not captured in the present one, also when this node is started again in it", () => {
    for (const isSameEpoch of [false, true]) {
      const { outdated, left, setAside } = choose({ isSameEpoch, parentStep, local: [below] });
      expect(outdated).toEqual([below]);
      expect([...left, ...setAside]).toEqual([]);
    }
  });

  test("is captured again by nobody where it was captured, and in an epoch that began at the beginning counts", () => {
    expect(choose({ parentStep, local: [{ ...below, ...known }] }).outdated).toEqual([]);
    expect(choose({ parentStep: null, local: [below] }).outdated).toEqual([]);
  });

  test("is nothing that the present epoch wrote", () => {
    const later = at(newest.step + 100);
    expect(choose({ parentStep, local: [below, later] })).toMatchObject({
      from: { kind: "local", step: newest.step + 100 },
      outdated: [below],
    });
  });
});
