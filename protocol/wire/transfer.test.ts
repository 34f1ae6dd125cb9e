import { expect, test } from "vitest";
import { isEnded, judgeAction, markTriedAgain, mayMove, TRANSFER_ACTIONS, type TransferAction } from "./transfer.ts";
import { TRANSFER_STATES } from "./transfer-kinds.ts";

test("an upload in flight is never superseded", () => {
  for (const by of ["node", "person", "policy"] as const) expect(mayMove("running", "superseded", by)).toBe(false);
  expect(mayMove("waiting", "superseded", "policy")).toBe(true);
  expect(mayMove("waiting", "superseded", "node")).toBe(false);
});

test("nothing leaves done, cancelled or superseded, and only failed can be tried again", () => {
  for (const from of TRANSFER_STATES) {
    const leaves = TRANSFER_STATES.some((to) => mayMove(from, to, "person") || mayMove(from, to, "node"));
    expect(leaves).toBe(!["done", "cancelled", "superseded"].includes(from));
  }
  expect(TRANSFER_STATES.filter(isEnded)).toEqual(["done", "failed", "cancelled", "superseded"]);
});

test("a piece that is tried again is marked in the map, one that is safe stays so", () => {
  expect(markTriedAgain("##>..", [1, 2, 4, 9])).toBe("##!.!");
  expect(markTriedAgain("##>..", [])).toBe("##>..");
});

test("an action leads along moves that a person may make, and means nothing where it is fulfilled or comes too late", () => {
  for (const action of ["cancel", "pause", "resume", "retry"] as const satisfies readonly TransferAction[]) {
    const { from, to } = TRANSFER_ACTIONS[action];
    for (const state of from) {
      expect(mayMove(state, to, "person"), `${action} ${state}`).toBe(true);
      expect(judgeAction(state, action)).toBe("to do");
    }
    expect(judgeAction("done", action)).toBe("impossible");
  }
  expect(judgeAction("failed", "cancel")).toBe("to do");
  expect(judgeAction("running", "resume")).toBe("fulfilled");
  expect(judgeAction("waiting", "retry")).toBe("fulfilled");
  expect(judgeAction("paused", "retry")).toBe("impossible");
  expect(judgeAction("failed", "resume")).toBe("impossible");
});
