import { expect, test } from "vitest";
import { adviseKelpieJobs } from "./check-kelpie-jobs.ts";

const rule = (prefix: string, path: string, rest: object = {}) => ({ bucket: "b", prefix, local_path: path, ...rest });
const up = (prefix: string, path: string) => ({ ...rule(prefix, path), direction: "upload" as const });
const down = (prefix: string, path: string, rest: object = {}) => ({
  ...rule(prefix, path, rest),
  direction: "download" as const,
});
const job = (id: string, rest: object) => ({ id, submission: { command: "x", container_group_id: "q", ...rest } });
const says = (...jobs: Parameters<typeof adviseKelpieJobs>[0]) => adviseKelpieJobs(jobs).map((one) => one.says);

test("a job as the guides write it is not found fault with", () => {
  const sync = { before: [down("j/", "/ckpt")], during: [up("j", "/ckpt")], after: [up("out/", "/out")] };
  expect(says(job("a", { sync, webhook: "https://hooks.example.com/x", environment: { STEPS: "3" } }))).toEqual([]);
});

test.each([
  ["secrets", { environment: { WANDB_API_KEY: "x" } }, "WANDB_API_KEY"],
  ["a plain webhook", { webhook: "http://hooks.example.com" }, "not https"],
  ["a short heartbeat", { heartbeat_interval: 3 }, "below 10 s"],
  ["one failure", { max_failures: 1 }, "the first failure is final"],
  ["a relative path", { sync: { after: [up("o/", "out")] } }, "relative"],
  ["an anchored pattern", { sync: { before: [down("i/", "/in", { pattern: "^data" })] } }, "begins with ^"],
  ["one path twice", { sync: { during: [up("a/", "/o")], after: [up("b/", "/o")] } }, "uploaded twice"],
  ["two prefixes for one path", { sync: { before: [down("a/", "/o")], during: [up("b/", "/o")] } }, "another prefix"],
])("%s is named", (_, rest, words) => {
  expect(says(job("a", rest))).toEqual([expect.stringContaining(words)]);
});

test("jobs that write to one prefix are counted, also by the older fields, and the most frequent finding comes first", () => {
  const legacy = { checkpoint_bucket: "b", checkpoint_prefix: "j/", output_bucket: "b", output_prefix: "o/" };
  const found = adviseKelpieJobs([
    job("a", { sync: { during: [up("j", "/ckpt")] }, max_failures: 1 }),
    job("c", { ...legacy, input_bucket: "b", input_prefix: "i/" }),
  ]);
  expect(found).toEqual([
    { says: "2 jobs write to s3://b/j/: they overwrite each other", count: 2, first: "a" },
    { says: "max_failures is 1: the first failure is final", count: 1, first: "a" },
  ]);
});
