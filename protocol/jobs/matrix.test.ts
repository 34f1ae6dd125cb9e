import { expect, test } from "vitest";
import { jobSubmission, type JobDraft } from "./job-spec.ts";
import { expandJobs, type Expansion } from "./matrix.ts";

const expand = (...drafts: Partial<JobDraft>[]): Expansion =>
  expandJobs(drafts.map((draft) => jobSubmission.parse({ command: "python", ...draft })));

function jobsOf(found: Expansion) {
  if ("wrong" in found) throw new Error(found.wrong);
  return found.jobs.map(({ job }) => job);
}
const wrongOf = (found: Expansion): string => ("wrong" in found ? found.wrong : "nothing is wrong");

test("a job without a matrix stays as it is, also with braces in its arguments", () => {
  const job = { name: "plain", arguments: ["{{x}}", '{"a": {"b": 1}}'] };
  expect(jobsOf(expand(job))).toEqual([jobSubmission.parse({ command: "python", ...job })]);
});

test("a matrix makes a job for each combination, with its values in every text and as labels", () => {
  const jobs = jobsOf(
    expand({
      name: "sweep",
      arguments: ["--lr", "{{lr}}", "--seed={{ seed }}"],
      environment: { SEED: "{{seed}}" },
      watch: ["out-{{seed}}"],
      labels: { team: "a", seed: "own" },
      matrix: { lr: ["1e-4", 0.5], seed: { from: 1, to: 2 } },
    }),
  );
  expect(jobs.map((job) => job.name)).toEqual(["sweep-1", "sweep-2", "sweep-3", "sweep-4"]);
  expect(jobs.map((job) => job.arguments[1])).toEqual(["1e-4", "1e-4", "0.5", "0.5"]);
  expect(jobs.map((job) => job.arguments[2])).toEqual(["--seed=1", "--seed=2", "--seed=1", "--seed=2"]);
  expect(jobs[3]).toMatchObject({ environment: { SEED: "2" }, watch: ["out-2"] });
  expect(jobs[3]?.labels).toEqual({ lr: "0.5", seed: "own", team: "a" });
  expect(jobs.every((job) => job.matrix === undefined)).toBe(true);
});

test("names and keys that tell the jobs apart are kept; keys that do not get a number", () => {
  const matrix = { seed: [7, 8] };
  const named = jobsOf(expand({ name: "s{{seed}}", idempotencyKey: "k", matrix }));
  expect(named.map(({ name, idempotencyKey }) => [name, idempotencyKey])).toEqual([
    ["s7", "k-1"],
    ["s8", "k-2"],
  ]);
  expect(jobsOf(expand({ matrix })).map(({ name }) => name)).toEqual([undefined, undefined]);
});

test("values of secrets are never filled in, and an inserted placeholder is not filled again", () => {
  const [job] = jobsOf(
    expand({ secrets: { KEY: "{{a}}" }, arguments: ["{{a}}"], matrix: { a: ["{{b}}"], b: ["never"] } }),
  );
  expect(job).toMatchObject({ secrets: { KEY: "{{a}}" }, arguments: ["{{b}}"] });
});

test.each([
  [{ matrix: { a: { from: 1, to: 1_001 } } }, "it makes 1,001 jobs; a submission has 1,000 at most"],
  [{ matrix: { a: { from: 1, to: 101 }, b: { from: 0, to: 9 } } }, "it makes 1,010 jobs"],
  [{ matrix: { a: [1] }, arguments: ["{{b}}"] }, "{{b}} is no parameter of its matrix"],
  [{ matrix: { a: [1, 2] }, run: "llama" }, "all jobs of the matrix would write one run"],
  [{ matrix: { a: ["\0"] }, arguments: ["{{a}}"] }, "job 1 of its matrix: arguments.0: it contains a NUL character"],
])("%j is refused with a reason", (draft, says) => {
  expect(wrongOf(expand(draft))).toContain(says);
});

test("all jobs of a submission together are bounded", () => {
  const matrix = { a: { from: 1, to: 600 } };
  expect(expand({ matrix }, { matrix })).toMatchObject({ index: 1, wrong: expect.stringContaining("1,000 jobs") });
});
