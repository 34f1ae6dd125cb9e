import { afterEach, beforeEach, expect, it } from "vitest";
import { callWebhooks } from "./call-webhooks.ts";
import { openReceiver, type Receiver } from "#server/testing/open-receiver.ts";
import { GROUP, kelpieForEach, submit, tell, test, work } from "#server/testing/kelpie-for-each.ts";

/** Webhooks of jobs, as their receivers see them. */
kelpieForEach();

let receiver: Receiver;
beforeEach(async () => {
  receiver = await openReceiver();
});
afterEach(() => receiver.close());

const hook = () => ({ webhook: `${receiver.url}/hook` });
/** The hub's own timer may make a call first. */
async function calls(): Promise<unknown[]> {
  await callWebhooks(test.hub);
  return receiver.got.map(({ body }): unknown => JSON.parse(body));
}
const waiting = () => test.hub.db.jobWebhook.count();
/** Makes the calls that are due and returns how many wait. */
async function callAll(): Promise<number> {
  await callWebhooks(test.hub);
  return waiting();
}

async function run(how: "completed" | "failed", changes: object = {}): Promise<string> {
  const id = await submit({ ...hook(), ...changes });
  await work("m-1");
  await tell("m-1", id, how);
  return id;
}

it("a job calls its webhook when it runs and when it is over, in Kelpie's form and without a token", async () => {
  const id = await run("completed");
  const about = { job_id: id, machine_id: "m-1", container_group_id: GROUP };
  await expect.poll(calls).toEqual([
    { status: "running", ...about },
    { status: "completed", ...about },
  ]);
  expect(receiver.got.map(({ headers }) => headers["x-kelpie-key"])).toEqual(["", ""]);
  await expect.poll(waiting).toBe(0);
});

it("a failure calls it only when it is the last one", async () => {
  const id = await run("failed", { max_failures: 1 });
  await run("failed");
  await expect.poll(waiting).toBe(0);
  const said = await calls();
  expect(said).toMatchObject([{ status: "running" }, { status: "failed", job_id: id }, { status: "running" }]);
});

it("a call that fails is made again later, also by a hub that started again", async () => {
  receiver.answers = Array.from({ length: 100 }, () => 503);
  await run("completed");
  const tries = async () => (await test.hub.db.jobWebhook.findMany()).map((row) => row.tries > 0);
  await expect.poll(tries).toEqual([true, true]);
  await test.stop();
  receiver.answers = [];
  receiver.got.length = 0;
  test.advance(20 * 60_000);
  await test.start();
  await expect.poll(calls).toMatchObject([{ status: "running" }, { status: "completed" }]);
  await expect.poll(waiting).toBe(0);
});

it("a call that is refused is not made again", async () => {
  receiver.answers = [404];
  await submit(hook());
  await work("m-1");
  await expect.poll(async () => (await calls()).length).toBe(1);
  await expect.poll(waiting).toBe(0);
});

it("an address that never answers is given up, and holds up no other", async () => {
  receiver.answers = Array.from({ length: 100 }, () => "broken" as const);
  await run("completed");
  const other = await openReceiver();
  await run("completed", { webhook: other.url });
  for (let tries = 0; tries < 12; tries++) {
    await callWebhooks(test.hub);
    test.advance(15 * 60_000);
  }
  await expect.poll(callAll).toBe(0);
  expect(other.got).toHaveLength(2);
  expect(receiver.got.length).toBeGreaterThanOrEqual(12);
  await other.close();
});

it("an address of the hub's own network is not called where the operator did not allow it", async () => {
  await submit({ webhook: "http://169.254.169.254/latest" });
  await work("m-1");
  await expect.poll(callAll).toBe(0);
});
