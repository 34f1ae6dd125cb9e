import { expect, test } from "vitest";
import { jobSpec, jobSubmission, specOf } from "#protocol/jobs/job-spec.ts";
import { setScheduleInput } from "#protocol/jobs/schedules.ts";
import { asCommand, asCurl, asFile, EMPTY_FIELDS, fieldsLike, readFields, scheduleOf } from "./job-form.ts";

const fields = {
  ...EMPTY_FIELDS,
  command: "python train.py --name 'a b'",
  watch: " logs/checkpoints ",
  environment: "WANDB_MODE=offline\nA=b=c",
  gpuGb: "24",
  inputs: "stage bucket: data/train -> data",
  outputs: "out -> results/1\nsummary.json -> results",
};

test("describe a job that the hub takes, and that fills the form again", () => {
  const read = readFields(fields);
  const job = specOf(jobSubmission.parse("job" in read ? read.job : null));
  expect(job).toMatchObject({
    queue: "default",
    command: "python",
    arguments: ["train.py", "--name", "a b"],
    watch: ["logs/checkpoints"],
    environment: { WANDB_MODE: "offline", A: "b=c" },
    needs: { gpuMemoryBytes: 24_000_000_000 },
    priority: 0,
    inputs: [{ profile: "stage bucket", prefix: "data/train", folder: "data" }],
    outputs: [
      { folder: "out", prefix: "results/1" },
      { files: ["summary.json"], prefix: "results" },
    ],
  });
  const again = readFields(fieldsLike(job));
  expect(specOf(jobSubmission.parse("job" in again ? again.job : null))).toEqual(job);
});

test.each([
  [{ command: "" }, "command"],
  [{ command: "echo 'open" }, "command"],
  [{ priority: "1.5" }, "priority"],
  [{ mostFailures: "0" }, "mostFailures"],
  [{ gpuGb: "much" }, "gpuGb"],
  [{ environment: "no value" }, "environment"],
  [{ after: "train" }, "after"],
  [{ inputs: "data" }, "inputs"],
  [{ outputs: "out ->" }, "outputs"],
  [{ matrix: "lr" }, "matrix"],
  [{ secrets: "HF_TOKEN" }, "secrets"],
  [{ secrets: "HF_TOKEN=" }, "secrets"],
  [{ secrets: "A=once more" }, "secrets"],
])("of %j say what is wrong at the field", (change, field) => {
  const read = readFields({ ...fields, ...change });
  expect("errors" in read ? Object.keys(read.errors) : []).toEqual([field]);
});

test("are the same job as a file, and in a call that a shell reads", () => {
  const read = readFields({ ...fields, command: 'echo "it\'s"' });
  if (!("job" in read)) throw new Error("it is a job");
  expect(jobSpec.parse(JSON.parse(asFile(read.job))).arguments).toEqual(["it's"]);
  const call = asCurl(read.job, { schedule: null, origin: "https://hub.example.com" });
  const body = /-d '(.*)' https:\/\/hub\.example\.com\/api\/trpc\/jobs\.submit$/.exec(call)?.[1] ?? "";
  expect(JSON.parse(body.replaceAll(String.raw`'\''`, "'"))).toEqual({ jobs: [read.job] });
});

test("keep the values of secrets out of everything that is shown, and out of the next form", () => {
  const read = readFields({ ...fields, secrets: "HF_TOKEN=hf_planted\nWANDB_API_KEY=a=planted" });
  if (!("job" in read)) throw new Error("it is a job");
  const submission = jobSubmission.parse(read.job);
  expect(submission.secrets).toEqual({ HF_TOKEN: "hf_planted", WANDB_API_KEY: "a=planted" });
  const file = asFile(read.job);
  expect(jobSpec.parse(JSON.parse(file)).secrets).toEqual(["HF_TOKEN", "WANDB_API_KEY"]);
  const shown = [
    file,
    asCurl(read.job, { schedule: null, origin: "https://hub.example.com" }),
    JSON.stringify(fieldsLike(specOf(submission))),
  ];
  expect(shown.join("")).not.toContain("planted");
  expect(fieldsLike(specOf(submission)).secrets).toBe("HF_TOKEN=\nWANDB_API_KEY=");
});

test("have a matrix with lists and ranges, which the hub takes", () => {
  const read = readFields({ ...fields, matrix: "lr=1e-4, 3e-4\nseed=1..3" });
  const job = jobSubmission.parse("job" in read ? read.job : null);
  expect(job.matrix).toEqual({ lr: ["1e-4", "3e-4"], seed: { from: 1, to: 3 } });
  expect(fieldsLike(specOf(job)).matrix).toBe("");
});

test("describe a schedule, which the hub takes, as a command and as a call too", () => {
  expect(scheduleOf(fields)).toBeNull();
  const nightly = {
    ...fields,
    name: "nightly",
    cron: " 0 3 * * 1-5 ",
    timeZone: "Europe/Berlin",
    secrets: "B=planted",
  };
  const schedule = scheduleOf(nightly);
  expect(schedule).toEqual({ name: "nightly", cron: "0 3 * * 1-5", timeZone: "Europe/Berlin", overlaps: false });
  expect(scheduleOf({ ...nightly, schedule: "other", overlaps: true })).toMatchObject({
    name: "other",
    overlaps: true,
  });
  const read = readFields(nightly);
  if (!("job" in read)) throw new Error("it is a job");
  expect(setScheduleInput.parse({ ...schedule, job: read.job }).job.secrets).toEqual({ B: "planted" });
  expect(asCommand(schedule)).toBe(
    "tidemark jobs schedule nightly --cron '0 3 * * 1-5' --time-zone Europe/Berlin job.json",
  );
  const call = asCurl(read.job, { schedule, origin: "https://hub.example.com" });
  const body = /-d '(.*)' https:\/\/hub\.example\.com\/api\/trpc\/jobs\.setSchedule$/.exec(call)?.[1] ?? "";
  expect(setScheduleInput.parse(JSON.parse(body))).toMatchObject({
    ...schedule,
    job: { secrets: { B: "value of B" } },
  });
});

test.each([
  [{ cron: "often", schedule: "nightly" }, "cron"],
  [{ cron: "0 3 * * *" }, "schedule"],
  [{ cron: "0 3 * * *", schedule: "a b" }, "schedule"],
  [{ cron: "0 3 * * *", schedule: "nightly", after: "abc" }, "after"],
])("name the field of a schedule that is wrong: %j", (wrong, field) => {
  const read = readFields({ ...fields, ...wrong });
  expect("errors" in read ? Object.keys(read.errors) : []).toEqual([field]);
});
