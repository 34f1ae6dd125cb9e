import { expect, it } from "vitest";
import { DONE, end, first, jobsForEach, people, read, submit, take, test } from "#server/testing/jobs-for-each.ts";
import { fault } from "#server/testing/match-fault.ts";

/** Submissions with a matrix: stored as ordinary jobs. */

jobsForEach();

const matrix = { lr: ["1e-4", "3e-4"], seed: { from: 1, to: 2 } };

it("a job of a matrix is a job of its own, found by its values, and what follows the matrix follows all of it", async () => {
  const sweep = { name: "sweep", arguments: ["--lr={{lr}}", "--seed={{seed}}"], secrets: { KEY: "value" }, matrix };
  const ids = await submit(sweep, { name: "compare", after: ["sweep"] });
  expect(ids).toHaveLength(5);
  const jobs = await Promise.all(ids.slice(0, 4).map(read));
  expect(jobs.map(({ name, run }) => [name, run])).toEqual(
    ["sweep-1", "sweep-2", "sweep-3", "sweep-4"].map((name) => [name, name]),
  );
  expect(jobs[2]?.spec).toMatchObject({ arguments: ["--lr=3e-4", "--seed=1"], secrets: ["KEY"] });
  expect(jobs[2]?.spec).not.toHaveProperty("matrix");
  const found = await people().list({ label: { name: "lr", value: "3e-4" } });
  expect(found.rows.map(({ name }) => name)).toEqual(["sweep-4", "sweep-3"]);
  const compare = await read(ids[4] ?? "");
  expect(compare.after).toHaveLength(4);
  for (let count = 0; count < 4; count++) {
    const taken = await take(first);
    expect(taken.secrets).toEqual({ KEY: "value" });
    await end(first, taken, DONE);
  }
  expect((await take(first)).id).toBe(ids[4]);
});

it("the same submission twice is the same jobs", async () => {
  const draft = { name: "sweep", idempotencyKey: "key", matrix };
  const ids = await submit(draft);
  expect(await submit(draft)).toEqual(ids);
  expect(await test.hub.db.job.count()).toBe(4);
});

it("what makes more than a thousand jobs is refused, and nothing is stored", async () => {
  const jobs = [
    { command: "true", matrix: { a: { from: 1, to: 1_000 } } },
    { command: "true", name: "one more" },
  ];
  await expect(people().submit({ jobs })).rejects.toEqual(fault("BAD_INPUT"));
  await expect(people().submit({ jobs: [{ command: "true", matrix: { a: [] } }] })).rejects.toThrow("Too small");
  expect(await test.hub.db.job.count()).toBe(0);
  expect(await submit(...jobs.slice(0, 1))).toHaveLength(1_000);
});
