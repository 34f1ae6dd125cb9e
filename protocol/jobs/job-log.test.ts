import { expect, it } from "vitest";
import { dataKeyOrNull, ownFolderOf } from "../checkpoint/keys.ts";
import { logPartKey } from "./job-log.ts";

it("a part of a log lies in Tidemark's own folder, beside all data of runs, and sorts by its place in the output", () => {
  const keyAt = (fromByte: number) =>
    logPartKey("team/", { run: "llama", jobId: "6f9619ff-8b86-4d01", attempt: 2, fromByte, bytes: 100 });
  const key = keyAt(5);
  expect(key).toBe("team/_tidemark/job-logs/llama/6f9619ff-8b86-4d01/2/000000000000005-100.z");
  expect(dataKeyOrNull("team/", key)).toBeNull();
  expect(ownFolderOf(["team/"], key)).toEqual({ prefix: "team/", folder: "_tidemark/" });
  expect([keyAt(20), keyAt(100), keyAt(3)].toSorted()).toEqual([keyAt(3), keyAt(20), keyAt(100)]);
});
