import { describe, expect, test } from "vitest";
import { chooseResume, type LocalCheckpoint } from "./choose-resume.ts";

const newest = { checkpointId: "safe-500", step: 500, capturedAt: 7_000 };
const at = (step: number, state: LocalCheckpoint["state"] = "whole", isKnown = false): LocalCheckpoint => ({
  path: `/work/checkpoint-${step}`,
  step,
  state,
  isKnown,
});

describe("on a new machine", () => {
  test("the newest safe one is restored", () => {
    const { from, setAside } = chooseResume({ newest, isSameEpoch: false, isFirstStart: false, local: [] });
    expect(from).toEqual({ kind: "restore", ...newest });
    expect(setAside).toEqual([]);
  });

  test("with none anywhere it starts from the beginning", () => {
    expect(chooseResume({ newest: null, isSameEpoch: true, isFirstStart: false, local: [] }).from).toEqual({
      kind: "start",
    });
  });
});

describe("on the machine that wrote last", () => {
  test("a newer whole one on the disk wins", () => {
    const local = [at(500, "whole", true), at(600)];
    const { from, setAside } = chooseResume({ newest, isSameEpoch: true, isFirstStart: false, local });
    expect(from).toEqual({ kind: "local", path: "/work/checkpoint-600", step: 600 });
    expect(setAside).toEqual([]);
  });

  test("a torn one is never taken, and does not stay where the program would take it", () => {
    const local = [at(500, "whole", true), at(600, "torn")];
    const { from, setAside } = chooseResume({ newest, isSameEpoch: true, isFirstStart: false, local });
    expect(from).toEqual({ kind: "local", path: "/work/checkpoint-500", step: 500 });
    expect(setAside).toEqual([at(600, "torn")]);
  });

  test("older ones on the disk do not win over what is safe", () => {
    const { from } = chooseResume({ newest, isSameEpoch: true, isFirstStart: false, local: [at(400)] });
    expect(from).toEqual({ kind: "restore", ...newest });
  });

  test("nothing safe yet: what lies there is gone on from", () => {
    const { from } = chooseResume({
      newest: null,
      isSameEpoch: false,
      isFirstStart: false,
      local: [at(100), at(200, "torn")],
    });
    expect(from).toEqual({ kind: "local", path: "/work/checkpoint-100", step: 100 });
  });

  test("nothing safe and only a torn one: it starts from the beginning, without it", () => {
    const { from, setAside } = chooseResume({
      newest: null,
      isSameEpoch: true,
      isFirstStart: false,
      local: [at(0, "torn")],
    });
    expect(from).toEqual({ kind: "start" });
    expect(setAside).toEqual([at(0, "torn")]);
  });
});

describe("where a format does not say whether it is finished", () => {
  test("the newest is set aside, as its program may have been killed in the middle", () => {
    const local = [at(400), at(500, "doubtful")];
    const { from, setAside } = chooseResume({ newest: null, isSameEpoch: true, isFirstStart: false, local });
    expect(from).toEqual({ kind: "local", path: "/work/checkpoint-400", step: 400 });
    expect(setAside).toEqual([at(500, "doubtful")]);
  });

  test("but one from before Tidemark is gone on from when nothing is safe yet", () => {
    const local = [at(400), at(500, "doubtful")];
    const { from, setAside } = chooseResume({ newest: null, isSameEpoch: false, isFirstStart: true, local });
    expect(from).toEqual({ kind: "local", path: "/work/checkpoint-500", step: 500 });
    expect(setAside).toEqual([]);
    expect(chooseResume({ newest, isSameEpoch: false, isFirstStart: true, local }).from.kind).toBe("restore");
  });
});

describe("after another machine took the run over", () => {
  test("what was written here before counts no more, however high its step", () => {
    const { from, setAside } = chooseResume({ newest, isSameEpoch: false, isFirstStart: false, local: [at(900)] });
    expect(from).toEqual({ kind: "restore", ...newest });
    expect(setAside).toEqual([at(900)]);
  });

  test("but what is the very same as the safe one need not be fetched again", () => {
    const local = [at(500, "whole", true), at(900)];
    const { from, setAside } = chooseResume({ newest, isSameEpoch: false, isFirstStart: false, local });
    expect(from).toEqual({ kind: "local", path: "/work/checkpoint-500", step: 500 });
    expect(setAside).toEqual([at(900)]);
  });
});
