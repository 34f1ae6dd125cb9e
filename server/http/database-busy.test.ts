import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { fault } from "../testing/match-fault.ts";
import { callAs, openTestHub, type TestHub } from "../testing/open-test-hub.ts";

let opened: TestHub;
beforeAll(async () => {
  opened = await openTestHub();
});
afterAll(() => opened.close());

const pause = () => callAs(opened.hub, "admin").jobs.pauseQueue({ queue: "default" });

/** Returns the error of a transaction that took longer than it may. */
const lateError = (): Promise<unknown> =>
  opened.hub.db
    .$transaction(
      async (tx) => {
        await tx.jobQueue.count();
        await new Promise((resolve) => setTimeout(resolve, 100));
        await tx.jobQueue.count();
      },
      { timeout: 20 },
    )
    .then(
      () => null,
      (error: unknown) => error,
    );

test("a transaction that took too long is the hub's own fault, which may be tried again, and stores nothing", async () => {
  const error = await lateError();
  expect(error).toMatchObject({ code: "P2028" });
  const transaction = vi.spyOn(opened.hub.db, "$transaction").mockRejectedValueOnce(error);
  await expect(pause()).rejects.toEqual(fault("HUB_BUSY"));
  expect(transaction).toHaveBeenCalledOnce();
  transaction.mockRestore();
  expect(await opened.hub.db.jobQueue.count()).toBe(0);
  await pause();
  expect(await opened.hub.db.jobQueue.count()).toBe(1);
});
