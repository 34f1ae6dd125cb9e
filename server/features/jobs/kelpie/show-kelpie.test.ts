import { afterEach, expect, it, vi } from "vitest";
import { addTestPerson } from "#server/testing/open-test-hub.ts";
import { kelpieForEach, submit, test } from "#server/testing/kelpie-for-each.ts";
import { listKelpieJobs } from "./show-kelpie.ts";

/** A list of jobs in Kelpie's form, as other calls of the hub notice it. */
kelpieForEach();
afterEach(() => vi.restoreAllMocks());

it("a long list is made in slices, with turns of the event loop between its jobs", async () => {
  for (let count = 0; count < 3; count++) await submit();
  const { caller } = await addTestPerson(test.hub, "ada@example.com", "viewer");
  const found = await test.hub.db.job.findMany({ include: { kelpie: true } });
  let turn = 0;
  const count = () => {
    turn++;
    next = setImmediate(count);
  };
  let next = setImmediate(count);
  const readIn: number[] = [];
  const rows = found.map((job) => ({
    ...job,
    get kelpie() {
      readIn.push(turn);
      return job.kelpie;
    },
  }));
  vi.spyOn(test.hub.db.job, "findMany").mockResolvedValue(rows);
  // Each look at the clock is past the end of a slice.
  let ms = 0;
  vi.spyOn(performance, "now").mockImplementation(() => (ms += 1_000));
  const query = { status: undefined, container_group_id: undefined, page_size: 100, page: 1, asc: true };
  const { _count } = await listKelpieJobs(test.hub, caller, query);
  clearImmediate(next);
  expect([_count, new Set(readIn).size]).toEqual([3, 3]);
});
