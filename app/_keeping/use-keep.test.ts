import { expect, test } from "vitest";
import { KEPT_NOWHERE } from "#protocol/keeping.ts";
import { keepingAfter } from "./use-keep.ts";

const best = { ...KEPT_NOWHERE, tags: ["best"] };

test("what was said is shown before the hub has answered", () => {
  expect(keepingAfter(KEPT_NOWHERE, { verb: "pin" }, true).isPinned).toBe(true);
  expect(keepingAfter({ ...best, isPinned: true }, { verb: "unpin" }, true)).toEqual(best);
  expect(keepingAfter(best, { verb: "tag", tag: "best" }, true)).toBe(best);
  expect(keepingAfter(best, { verb: "untag", tag: "best" }, true).tags).toEqual([]);
  expect(keepingAfter(best, { verb: "note", text: " lr 3e-4 " }, true).note).toBe("lr 3e-4");
  expect(keepingAfter({ ...best, note: "x" }, { verb: "note", text: "  " }, true).note).toBeNull();
});

test("a tag that moves leaves the checkpoint that had it, and nothing else is touched", () => {
  expect(keepingAfter(best, { verb: "tag", tag: "best" }, false).tags).toEqual([]);
  expect(keepingAfter(best, { verb: "tag", tag: "release-1" }, false)).toBe(best);
  expect(keepingAfter(best, { verb: "unpin" }, false)).toBe(best);
});
