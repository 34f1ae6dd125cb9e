import { expect, test } from "vitest";
import { KEPT_NOWHERE, type CheckpointKeeping } from "#protocol/retention/keeping.ts";
import { keepingAfter } from "./use-keep.ts";

const after = (
  keeping: CheckpointKeeping,
  saying: Parameters<typeof keepingAfter>[1]["saying"],
  isSubject: boolean,
): CheckpointKeeping => keepingAfter(keeping, { id: "checkpoint-1", run: "llama", saying }, isSubject);
const best = { ...KEPT_NOWHERE, tags: ["best"] };

test("what was said is shown before the hub has answered", () => {
  expect(after(KEPT_NOWHERE, { verb: "pin" }, true).isPinned).toBe(true);
  expect(after({ ...best, isPinned: true }, { verb: "unpin" }, true)).toEqual(best);
  expect(after(best, { verb: "tag", tag: "best" }, true)).toBe(best);
  expect(after(best, { verb: "untag", tag: "best" }, true).tags).toEqual([]);
  expect(after(best, { verb: "note", text: " lr 3e-4 " }, true).note).toBe("lr 3e-4");
  expect(after({ ...best, note: "x" }, { verb: "note", text: "  " }, true).note).toBeNull();
});

test("a tag that moves leaves the checkpoint that had it, and nothing else is touched", () => {
  expect(after(best, { verb: "tag", tag: "best" }, false).tags).toEqual([]);
  expect(after(best, { verb: "tag", tag: "release-1" }, false)).toBe(best);
  expect(after(best, { verb: "unpin" }, false)).toBe(best);
});
