import { expect, it } from "vitest";
import { jobSubmission } from "./job-spec.ts";
import { outputKey, pathBelow } from "./job-places.ts";

const why = (about: object): string | undefined =>
  jobSubmission.safeParse({ command: "true", ...about }).error?.issues[0]?.message;

it.each([
  [{ inputs: [{ prefix: "data", folder: "../data" }] }, "'.' or '..'"],
  [{ inputs: [{ prefix: "data", folder: "/data" }] }, "absolute"],
  [{ inputs: [{ prefix: "../other" }] }, "'.' or '..'"],
  [{ inputs: [{ prefix: "/data" }] }, "absolute"],
  [{ outputs: [{ prefix: "results", folder: "a/../../b" }] }, "'.' or '..'"],
  [{ outputs: [{ prefix: "results", files: ["/etc/passwd"] }] }, "absolute"],
  [{ outputs: [{ prefix: "", folder: "results" }] }, "below a prefix"],
  [{ outputs: [{ prefix: "results" }] }, "either a folder or files"],
  [{ outputs: [{ prefix: "results", folder: "a", files: ["b"] }] }, "either a folder or files"],
  [{ inputs: [{ prefix: "data" }], workingFolder: "/srv" }, "own folder"],
  [{ outputs: [{ prefix: "results", folder: "out" }], workingFolder: "../srv" }, "own folder"],
])("refuses %j", (about, words) => {
  expect(why(about)).toContain(words);
});

it("takes folders and files below the job's own folder", () => {
  expect(why({ workingFolder: "src", inputs: [{ prefix: "" }, { prefix: "data/", folder: "data" }] })).toBeUndefined();
  expect(why({ outputs: [{ profile: "results", prefix: "out/1", files: ["a/b.json", "c"] }] })).toBeUndefined();
});

it("an object lies below its folder, or is the one that was named; no other one that only begins alike", () => {
  expect(pathBelow("data", "data/a/b")).toBe("a/b");
  expect(pathBelow("data/", "data/a")).toBe("a");
  expect(pathBelow("data", "database")).toBeNull();
  expect(pathBelow("models/llama.gguf", "models/llama.gguf")).toBe("llama.gguf");
  expect(pathBelow("", "a/b")).toBe("a/b");
  expect([outputKey("out", "a"), outputKey("out/", "a/b")]).toEqual(["out/a", "out/a/b"]);
});
