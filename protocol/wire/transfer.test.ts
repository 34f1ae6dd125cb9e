import { expect, test } from "vitest";
import { isEnded, judgeWish, markTriedAgain, mayMove, TRANSFER_WISHES, type TransferWish } from "./transfer.ts";
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

test("a wish leads along moves that a person may make, and means nothing where it is fulfilled or comes too late", () => {
  for (const wish of ["cancel", "pause", "resume", "retry"] as const satisfies readonly TransferWish[]) {
    const { from, to } = TRANSFER_WISHES[wish];
    for (const state of from) {
      expect(mayMove(state, to, "person"), `${wish} ${state}`).toBe(true);
      expect(judgeWish(state, wish)).toBe("to do");
    }
    expect(judgeWish("done", wish)).toBe("impossible");
  }
  expect(judgeWish("failed", "cancel")).toBe("to do");
  expect(judgeWish("running", "resume")).toBe("fulfilled");
  expect(judgeWish("waiting", "retry")).toBe("fulfilled");
  expect(judgeWish("paused", "retry")).toBe("impossible");
  expect(judgeWish("failed", "resume")).toBe("impossible");
});
