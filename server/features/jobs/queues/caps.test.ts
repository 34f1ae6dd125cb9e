import { expect, it } from "vitest";
import {
  ask,
  DONE,
  end,
  first,
  jobsForEach,
  nodeOf,
  bootOf,
  people,
  read,
  second,
  submit,
  take,
  test,
} from "#server/testing/jobs-for-each.ts";
import { callAs } from "#server/testing/open-test-hub.ts";

jobsForEach();

const cap = (mostRunning: number | null, mostPerOwner: number | null = null) =>
  people().setQueueCaps({ queue: "default", mostRunning, mostPerOwner });
/** Gives the waiting job of this id to another person. */
const giveTo = (id: string, owner: string) =>
  test.hub.db.job.update({ where: { id }, data: { ownerId: owner, owner: `${owner}@example.com` } });

it("a queue hands out no more jobs than run at most, says so, and goes on when one ends or the cap is lifted", async () => {
  const [, next = "", last = ""] = await submit({}, {}, {});
  await cap(1);
  const job = await take(first);
  expect(await ask(second)).toEqual({ job: null, why: "the queue default runs one job at most" });
  expect((await read(next)).waits).toBe("the queue default runs one job at most");
  await submit({ queue: "other" });
  expect((await ask(second, { queue: "other" })).job).not.toBeNull();
  await end(first, job, DONE);
  expect((await take(first)).id).toBe(next);
  expect((await read(last)).waits).toContain("at most");
  await cap(null);
  expect((await read(last)).waits).not.toContain("at most");
});

it("wakes a node that waits when a job ends below the cap", async () => {
  const [, next = ""] = await submit({}, {});
  await cap(1);
  const job = await take(first);
  const waiting = nodeOf(second).takeJob({ bootId: bootOf(second), queue: "default", holds: [], waitSeconds: 25 });
  await end(first, job, DONE);
  expect((await waiting).job?.id).toBe(next);
});

it("a person whose jobs fill their cap does not hold up the jobs of others", async () => {
  const [own = "", waits = "", other = ""] = await submit({}, {}, {});
  await giveTo(other, "ada");
  await cap(null, 1);
  expect((await take(first)).id).toBe(own);
  expect((await take(second)).id).toBe(other);
  expect((await read(waits)).waits).toMatch(/^one job of .* may run in the queue default at a time, and so many run$/);
});

it("counts the jobs of Kelpie workers too, and holds them back", async () => {
  const [native = ""] = await submit({ queue: "salad" });
  const job = { command: "true", container_group_id: "salad", sync: {} };
  const jobs = ["kelpie-job-1", "kelpie-job-2"].map((id) => ({ id, failures: 0, submission: job }));
  await people().importKelpie({ jobs, dryRun: false });
  await people().setQueueCaps({ queue: "salad", mostRunning: 1, mostPerOwner: null });
  const { takeKelpieJob } = await import("../kelpie/take-kelpie.ts");
  const worker = { container_group_id: "salad", machine_id: "machine" };
  expect(await takeKelpieJob(test.hub, worker)).not.toBeNull();
  expect(await takeKelpieJob(test.hub, worker)).toBeNull();
  expect((await ask(first, { queue: "salad" })).job).toBeNull();
  await people().setQueueCaps({ queue: "salad", mostRunning: null, mostPerOwner: 1 });
  expect(await takeKelpieJob(test.hub, worker)).toBeNull();
  expect((await read(native)).state).toBe("waiting");
});

it("is shown with the queue, and viewers cannot change it", async () => {
  await cap(3, 2);
  expect(await people().queues()).toMatchObject([
    { queue: "default", mostRunning: 3, mostPerOwner: 2, pausedAt: null },
  ]);
  const viewer = callAs(test.hub, "viewer").jobs;
  await expect(viewer.setQueueCaps({ queue: "default", mostRunning: 1, mostPerOwner: null })).rejects.toThrow();
});
