import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { fault } from "../testing/match-fault.ts";
import { addTestPerson, callAs, openTestHub, type TestHub } from "../testing/open-test-hub.ts";
import { serve } from "./serve.ts";

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

test("a call whose sender cannot be looked up is answered with that, and its connection is kept", async () => {
  const { hub } = opened;
  const { cookie } = await addTestPerson(hub, "busy@example.com", "viewer");
  const served = await serve(hub, async (_request, response) => void response.end(), 0);
  const look = vi.spyOn(hub.db.session, "findUnique").mockRejectedValue(await lateError());
  try {
    const answer = await fetch(`${served.url}/api/trpc/runs.list`, { headers: { cookie } });
    expect(answer.status).toBe(503);
    expect(await answer.json()).toMatchObject({ error: { data: { fault: { code: "HUB_BUSY" } } } });
    expect(look).toHaveBeenCalled();
  } finally {
    look.mockRestore();
    await served.close(0);
  }
});
