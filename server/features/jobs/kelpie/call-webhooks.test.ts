import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { refuseChange } from "#server/testing/test-database.ts";
import { callWebhooks, noteWebhook } from "./call-webhooks.ts";
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

it("an address that is slow to answer holds up no other", async () => {
  const held = Promise.withResolvers<number>();
  receiver.answers = [held.promise];
  await run("completed");
  let isOver = false;
  const slow = callWebhooks(test.hub).then(() => (isOver = true));
  await expect.poll(() => receiver.got.length).toBe(1);
  const other = await openReceiver();
  await run("completed", { webhook: other.url });
  const round = callWebhooks(test.hub);
  await expect.poll(() => other.got.length).toBe(2);
  expect([isOver, receiver.got.length]).toEqual([false, 1]);
  held.resolve(200);
  await Promise.all([slow, round]);
  await other.close();
});

describe("without the hub's own timer", () => {
  let other: Receiver;
  let jobId: string;
  beforeEach(async () => {
    other = await openReceiver();
    jobId = await submit();
    await test.stop();
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    await test.start();
  });
  afterEach(async () => {
    await other.close();
    vi.useRealTimers();
  });
  const store = (urls: readonly string[]) =>
    test.hub.db.jobWebhook.createMany({
      data: urls.map((url, at) => ({ jobId, url, body: String(at), nextAt: new Date(test.hub.now()) })),
    });
  const bodies = ({ got }: Receiver) => got.map(({ body }) => body);

  it("an address with many calls is one of those that are called in a round", async () => {
    receiver.answers = [503];
    await store([...Array.from({ length: 500 }, () => receiver.url), other.url]);
    await callWebhooks(test.hub);
    expect([bodies(receiver), bodies(other)]).toEqual([["0"], ["500"]]);
  });

  it("an address that takes long ends its turn, and the next one begins where it ended", async () => {
    const late = async () => {
      await expect.poll(() => receiver.got.length).toBeGreaterThan(0);
      test.advance(9_000);
      return 200;
    };
    receiver.answers = [late()];
    await store([receiver.url, receiver.url, receiver.url]);
    await callWebhooks(test.hub);
    expect(bodies(receiver)).toEqual(["0"]);
    const at = new Date(test.hub.now() - 5_000);
    expect(await test.hub.db.jobWebhook.count({ where: { nextAt: { gt: at } } })).toBe(2);
    expect(await callAll()).toBe(0);
    expect(bodies(receiver)).toEqual(["0", "1", "2"]);
  });

  it("a call waits for the earlier ones of its job, also when they wait for a later try", async () => {
    receiver.answers = [503];
    const job = await test.hub.db.job.findUniqueOrThrow({ where: { id: jobId }, include: { kelpie: true } });
    const about = { ...job, kelpie: job.kelpie === null ? null : { ...job.kelpie, webhook: receiver.url } };
    const note = (status: "running" | "completed") =>
      noteWebhook(test.hub.db, about, { status, at: new Date(test.hub.now()) });
    await note("running");
    await callWebhooks(test.hub);
    await note("completed");
    expect(await callAll()).toBe(2);
    test.advance(60_000);
    expect(await callAll()).toBe(0);
    const said = bodies(receiver).map((body): unknown => JSON.parse(body));
    expect(said).toMatchObject([{ status: "running" }, { status: "running" }, { status: "completed" }]);
  });

  it("an error of the database at one address ends no other's calls, and repeats none that was made", async () => {
    await store([receiver.url, other.url]);
    const end = await refuseChange(test.hub.db, { table: "JobWebhook", change: "DELETE" });
    for (let round = 0; round < 2; round++) expect(await callAll()).toBe(2);
    await end();
    expect(await callAll()).toBe(0);
    expect([bodies(receiver), bodies(other)]).toEqual([["0"], ["1"]]);
  });

  it("a database that cannot be read ends one round and no later one", async () => {
    await store([receiver.url]);
    await test.hub.db.$executeRawUnsafe(`ALTER TABLE "JobWebhook" RENAME TO "Away"`);
    await expect(callWebhooks(test.hub)).rejects.toThrow();
    await test.hub.db.$executeRawUnsafe(`ALTER TABLE "Away" RENAME TO "JobWebhook"`);
    expect(await callAll()).toBe(0);
    expect(bodies(receiver)).toEqual(["0"]);
  });
});

it("an address of the hub's own network is not called where the operator did not allow it", async () => {
  await submit(hook());
  test.hub.reach.rules.allowPrivate = false;
  await work("m-1");
  await expect.poll(callAll).toBe(0);
  expect(receiver.got).toEqual([]);
});
