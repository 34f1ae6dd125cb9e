import { expect, it } from "vitest";
import { MOST_LOG_PART_BYTES } from "#protocol/jobs/job-log.ts";
import { fault } from "#server/testing/match-fault.ts";
import {
  DONE,
  end,
  FAILED,
  first,
  jobsForEach,
  nodeOf,
  pass,
  people,
  profileId,
  second,
  submit,
  take,
  test,
} from "#server/testing/jobs-for-each.ts";
import { callAs, report } from "#server/testing/open-test-hub.ts";
import { partKey, storePart } from "#server/testing/stage-job-log.ts";
import { keysOf } from "#server/testing/test-bucket.ts";
import { forgetJobs } from "../forget-jobs.ts";

jobsForEach();

const DAY_MS = 86_400_000;
const logKeys = () => keysOf(test.hub, profileId, "team/_tidemark/job-logs/");
const textOf = async (id: string, about: { attempt?: number; fromByte?: number } = {}): Promise<string> =>
  (await people().log({ id, ...about })).pieces.map(({ text }) => text).join("");

it("keeps parts of the output per attempt, and the longer part replaces the shorter one at the same byte", async () => {
  const [id = ""] = await submit({});
  const job = await take(first);
  await storePart(test.hub, { who: first, job }, { fromByte: 0, text: "one\n" });
  await storePart(test.hub, { who: first, job }, { fromByte: 0, text: "one\ntwo\n" });
  await storePart(test.hub, { who: first, job }, { fromByte: 8, text: "three\n", totalBytes: 20 });
  expect(await logKeys()).toEqual([partKey(job, 0, "one\ntwo\n"), partKey(job, 8, "three\n")]);
  const all = { firstByte: 0, nextByte: 14, totalBytes: 20, keptBytes: 14, isRunning: true, whyNotKept: null };
  expect(await people().log({ id })).toMatchObject(all);
  expect(await textOf(id)).toBe("one\ntwo\nthree\n");
  expect(await textOf(id, { fromByte: 4 })).toBe("two\nthree\n");
  await end(first, job, FAILED);
  await pass(10_001, [first, second]);
  const again = await take(second);
  await storePart(test.hub, { who: second, job: again }, { fromByte: 0, text: "second attempt\n" });
  expect(await textOf(id)).toBe("second attempt\n");
  expect(await textOf(id, { attempt: 1 })).toBe("one\ntwo\nthree\n");
  await expect(people().log({ id, attempt: 3 })).rejects.toEqual(fault("NOT_FOUND"));
});

it("keeps the first half and the newest half of what the policy allows, and deletes the others from the bucket", async () => {
  await submit({ policy: { logBytes: 40 } });
  const job = await take(first);
  for (let at = 0; at < 8; at++)
    await storePart(test.hub, { who: first, job }, { fromByte: at * 10, text: `part ${at}...\n` });
  const kept = [0, 1, 6, 7].map((at) => partKey(job, at * 10, `part ${at}...\n`));
  expect(await logKeys()).toEqual(kept);
  const { pieces, totalBytes, keptBytes } = await people().log({ id: job.id });
  expect(pieces.map(({ fromByte }) => fromByte)).toEqual([0, 10, 60, 70]);
  expect([totalBytes, keptBytes]).toEqual([80, 40]);
});

it("signs nothing but parts of the attempt that the node was handed, and only for a short time after its end", async () => {
  await submit({ run: "llama" }, { run: "other" });
  const job = await take(first);
  const other = await take(second);
  const sums = { crc32: "00000000", nonce: "n" };
  const sign = (key: string, changes: { sizeBytes?: number; as?: typeof first; epoch?: number } = {}) => {
    const { sizeBytes = 5, as = first, epoch = job.epoch } = changes;
    const { id: jobId, attempt } = job;
    const operations = [{ op: "put" as const, key, sizeBytes, ...sums }];
    return nodeOf(as).signForJob({ jobId, attempt, epoch, part: { kind: "log" }, operations });
  };
  const own = partKey(job, 0, "text");
  expect((await sign(own)).requests).toHaveLength(1);
  const refused = [
    partKey(other, 0, "text"),
    own.replace("/1/", "/2/"),
    own.replace("/1/", "/../1/"),
    `x${own}`,
    "team/runs/llama/e000001/a/model",
    "team/manifests/llama/e000001/x.json",
  ];
  for (const key of refused) await expect(sign(key)).rejects.toEqual(fault("NOT_THIS_NODES"));
  await expect(sign(own, { sizeBytes: 2 * MOST_LOG_PART_BYTES })).rejects.toEqual(fault("NOT_THIS_NODES"));
  await expect(sign(own, { as: second })).rejects.toEqual(fault("NOT_THIS_NODES"));
  await expect(sign(own, { epoch: job.epoch + 1 })).rejects.toEqual(fault("NOT_THIS_NODES"));
  const { id: jobId, attempt, epoch } = job;
  const head = { op: "delete" as const, key: own };
  await expect(
    nodeOf(first).signForJob({ jobId, attempt, epoch, part: { kind: "log" }, operations: [head] }),
  ).rejects.toEqual(fault("NOT_THIS_NODES"));
  await people().cancel({ which: { ids: [jobId] } });
  expect((await sign(own)).requests).toHaveLength(1);
  test.advance(11 * 60_000);
  await expect(sign(own)).rejects.toEqual(fault("NOT_THIS_NODES"));
});

it("keeps nothing in the clear beside encrypted checkpoints, and says so", async () => {
  const [id = ""] = await submit({});
  const job = await take(first);
  await test.hub.db.profile.update({ where: { id: profileId }, data: { sealing: "content" } });
  await expect(storePart(test.hub, { who: first, job }, { fromByte: 0, text: "x" })).rejects.toEqual(
    fault("SEAL_REQUIRED"),
  );
  expect((await people().log({ id })).whyNotKept).toContain("encrypted");
});

it("asks a node for new output while a person reads it, and adds it behind what the bucket has", async () => {
  const [id = ""] = await submit({});
  const job = await take(first);
  const { attempt } = job;
  const say = (fromByte: number, text: string, who = first) =>
    nodeOf(who).progress({ ...report(test.hub), jobLog: { jobId: id, attempt, fromByte, text } });
  expect((await say(0, "nobody asked\n")).jobLog).toBeUndefined();
  await storePart(test.hub, { who: first, job }, { fromByte: 0, text: "one\n" });
  expect(await textOf(id)).toBe("one\n");
  expect((await say(0, "too early\n")).jobLog).toEqual({ jobId: id, attempt, fromByte: 4 });
  expect((await say(4, "two\n")).jobLog).toMatchObject({ fromByte: 8 });
  await say(4, "twice\n");
  await say(8, "of another node\n", second);
  expect(await textOf(id)).toBe("one\ntwo\n");
  expect(await textOf(id, { fromByte: 8 })).toBe("");
  // The bucket catches up.
  await storePart(test.hub, { who: first, job }, { fromByte: 0, text: "one\ntwo\nthree\n" });
  expect(await textOf(id)).toBe("one\ntwo\nthree\n");
  test.advance(11_000);
  expect((await say(8, "late\n")).jobLog).toBeUndefined();
});

it("finds lines, also those that two parts share, and does not join lines over a gap", async () => {
  const [id = ""] = await submit({});
  const job = await take(first);
  const store = (fromByte: number, text: string) => storePart(test.hub, { who: first, job }, { fromByte, text });
  await store(0, "one\nhalf of a li");
  await store(16, "ne ERROR\nthe end");
  await store(100, "error\n\u001b[31merror again\u001b[0m\n");
  const found = await people().findInLog({ id, words: "error" });
  expect(found).toEqual({
    attempt: 1,
    hasMore: false,
    lines: [
      { fromByte: 4, text: "half of a line ERROR" },
      { fromByte: 100, text: "error" },
      { fromByte: 106, text: "error again" },
    ],
  });
  expect((await people().findInLog({ id, words: "the enderror" })).lines).toEqual([]);
});

it("a part that is no such part of text is left out: what a node wrote is not trusted", async () => {
  const [id = ""] = await submit({});
  const job = await take(first);
  await storePart(test.hub, { who: first, job }, { fromByte: 0, text: "x".repeat(1_000) });
  await storePart(test.hub, { who: first, job }, { fromByte: 1_000, text: "good\n" });
  await test.hub.db.jobLogPart.updateMany({ where: { fromByte: 0n }, data: { bytes: 999 } });
  expect(await textOf(id)).toBe("good\n");
});

it("is deleted with its job, which stays while its bucket cannot be asked", async () => {
  const [id = ""] = await submit({});
  const job = await take(first);
  await storePart(test.hub, { who: first, job }, { fromByte: 0, text: "one\n" });
  await end(first, job, DONE);
  test.advance(91 * DAY_MS);
  const away = { open: () => Promise.reject(new Error("away")), forget: () => undefined, close: () => undefined };
  await forgetJobs({ ...test.hub, stores: away });
  expect((await people().list({ limit: 10 })).rows).toHaveLength(1);
  await forgetJobs(test.hub);
  expect((await people().list({ limit: 10 })).rows).toHaveLength(0);
  expect([await logKeys(), await test.hub.db.jobLogPart.count()]).toEqual([[], 0]);
  await expect(callAs(test.hub, "viewer").jobs.log({ id })).rejects.toEqual(fault("NOT_FOUND"));
});
