import { expect, it } from "vitest";
import { jobsForEach, DONE, end, first, people, second, submit, take, test } from "#server/testing/jobs-for-each.ts";
import { forgetJobs } from "./forget-jobs.ts";

jobsForEach();

const DAY_MS = 86_400_000;
const left = async () => (await people().list({ limit: 10 })).rows.map(({ id }) => id).toSorted();

it("forgets jobs with everything about them 90 days after their end, and no job that has not ended", async () => {
  const [old = "", canceled = "", waiting = "", running = ""] = await submit({ labels: { a: "b" } }, {}, {}, {});
  await end(first, await take(first), DONE);
  await people().cancel({ which: { ids: [canceled] } });
  await people().pauseQueue({ queue: "other" });
  test.advance(2 * DAY_MS);
  const [late = ""] = await submit({ queue: "late" });
  await people().cancel({ which: { ids: [late] } });
  await test.hub.db.job.update({ where: { id: running }, data: { state: "running", startedAt: new Date(0) } });
  test.advance(87 * DAY_MS);
  await forgetJobs(test.hub);
  expect(await left()).toEqual([old, canceled, waiting, running, late].toSorted());
  test.advance(2 * DAY_MS);
  await forgetJobs(test.hub);
  expect(await left()).toEqual([waiting, running, late].toSorted());
  expect([await test.hub.db.jobAttempt.count(), await test.hub.db.jobLabel.count()]).toEqual([0, 0]);
});

it("forgets bans that are over", async () => {
  const [id = ""] = await submit({});
  const ban = (nodeId: string, ms: number) => ({ jobId: id, nodeId, reason: "", until: new Date(test.hub.now() + ms) });
  await test.hub.db.jobBan.createMany({ data: [ban(first.nodeId, -1_000), ban(second.nodeId, DAY_MS)] });
  await forgetJobs(test.hub);
  expect(await test.hub.db.jobBan.findMany({ select: { nodeId: true } })).toEqual([{ nodeId: second.nodeId }]);
});
