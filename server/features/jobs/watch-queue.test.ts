import { expect, it, vi } from "vitest";
import type { NodeMessage } from "#protocol/wire/commands.ts";
import { ASK_AGAIN_MS } from "#protocol/jobs/node-jobs.ts";
import { notifyQueues } from "#server/core/live/job-memory.ts";
import { createMailbox, type Mailbox } from "#server/core/live/live-node.ts";
import { newId } from "#server/platform/random-id.ts";
import {
  ask,
  bootOf,
  DONE,
  end,
  first,
  jobsForEach,
  nodeOf,
  outcomesOf,
  pass,
  people,
  profileId,
  second,
  speak,
  stateOf,
  submit,
  take,
  test,
} from "#server/testing/jobs-for-each.ts";
import { store } from "#server/testing/hub-for-each.ts";
import { addTestNode, addTestProfile, callAs, type TestNode } from "#server/testing/open-test-hub.ts";

/** Jobs for nodes that hold a stream, and no call, while they wait. */

jobsForEach();

/** Lets a node hold a stream, and the hub look for a job for it. Returns what is sent on the stream. */
async function listen(who: TestNode): Promise<NodeMessage[]> {
  const mailbox: Mailbox = createMailbox(null);
  test.hub.live.nodes.get(who.nodeId)?.mailboxes.add(mailbox);
  expect(await askListening(who)).toEqual({ job: null, why: null, notifies: true });
  return mailbox.messages;
}
const askListening = (who: TestNode) => ask(who, { waitSeconds: 25, listens: true });
const isWatched = (who: TestNode) => test.hub.jobs.queues.get("default")?.watchers.has(who.nodeId) === true;
const NOTICE = [{ type: "job" }];

it("is assigned before the node is notified, to one node each, in the order in which they began to wait", async () => {
  const [one, two] = [await listen(first), await listen(second)];
  const [id = ""] = await submit({});
  await vi.waitFor(() => expect(one).toEqual(NOTICE), 20_000);
  expect(await outcomesOf(id)).toEqual([null]);
  expect(isWatched(first)).toBe(false);
  expect((await askListening(first)).job).toMatchObject({ id, attempt: 1 });
  expect(two).toEqual([]);
  expect(isWatched(second)).toBe(true);
  const [next = ""] = await submit({});
  await vi.waitFor(() => expect(two).toEqual(NOTICE), 20_000);
  expect((await take(second)).id).toBe(next);
  await vi.waitFor(() => expect(test.hub.jobs.queues.size).toBe(0), 20_000);
});

it("is waited for in an open call by a node without a stream", async () => {
  const answer = askListening(first);
  await vi.waitFor(() => expect(test.hub.jobs.queues.get("default")?.signal.waiting).toBe(1), 20_000);
  const [id] = await submit({});
  expect((await answer).job?.id).toBe(id);
});

it("is not assigned to a node that lost its stream, said goodbye, or did not ask for too long", async () => {
  await listen(first);
  test.hub.live.nodes.get(first.nodeId)?.mailboxes.clear();
  const two = await listen(second);
  await nodeOf(second).goodbye();
  expect(isWatched(second)).toBe(false);
  const [id = ""] = await submit({});
  await vi.waitFor(() => expect(test.hub.jobs.queues.size).toBe(0), 20_000);
  expect([await stateOf(id), two]).toEqual(["waiting", []]);
  const third = await addTestNode(test.hub, profileId, "gpu-3");
  expect(await end(third, await take(third), DONE)).toBe(true);
  const late = await listen(third);
  await pass(ASK_AGAIN_MS + 60_000, [third]);
  await submit({});
  await vi.waitFor(() => expect(isWatched(third)).toBe(false), 20_000);
  expect(late).toEqual([]);
});

it("is not assigned to a node that is told to drain", async () => {
  const messages = await listen(first);
  const order = { kind: "drain" } as const;
  await callAs(test.hub, "operator").commands.send({ requestId: newId(), to: { nodeIds: [first.nodeId] }, order });
  expect(isWatched(first)).toBe(false);
  const [id = ""] = await submit({});
  expect((await take(second)).id).toBe(id);
  expect(messages).toMatchObject([{ type: "command" }]);
});

it("is found when the pause of its queue ends, or a cap allows it", async () => {
  await people().pauseQueue({ queue: "default" });
  const [id = ""] = await submit({});
  const mailbox = createMailbox(null);
  test.hub.live.nodes.get(first.nodeId)?.mailboxes.add(mailbox);
  expect(await askListening(first)).toMatchObject({ why: "the queue default is paused", notifies: true });
  await people().resumeQueue({ queue: "default" });
  await vi.waitFor(() => expect(mailbox.messages).toEqual(NOTICE), 20_000);
  const job = await take(first);
  expect(job.id).toBe(id);
  await people().setQueueCaps({ queue: "default", mostRunning: 1, mostPerOwner: null });
  await submit({});
  const two = createMailbox(null);
  test.hub.live.nodes.get(second.nodeId)?.mailboxes.add(two);
  expect(await askListening(second)).toMatchObject({ why: "the queue default runs one job at most", notifies: true });
  expect(await end(first, job, DONE)).toBe(true);
  await vi.waitFor(() => expect(two.messages).toEqual(NOTICE), 20_000);
});

it("waits for another node when the notified one does not ask", async () => {
  const messages = await listen(first);
  const [id = ""] = await submit({});
  await vi.waitFor(() => expect(messages).toEqual(NOTICE), 20_000);
  await pass(61_000, [first, second]);
  expect(await outcomesOf(id)).toEqual(["interrupted"]);
  expect(await take(second)).toMatchObject({ id, attempt: 2 });
});

it("is not looked for any more when the node says so, or opens another stream", async () => {
  await listen(first);
  expect(await ask(first, { ends: true })).toEqual({ job: null, why: null });
  expect(isWatched(first)).toBe(false);
  await listen(second);
  const stream = (await nodeOf(second).stream({ bootId: bootOf(second) }))[Symbol.asyncIterator]();
  await stream.next();
  expect(isWatched(second)).toBe(false);
  await stream.return?.();
  const [id = ""] = await submit({});
  expect(await stateOf(id)).toBe("waiting");
  expect(await ask(first, { ends: true })).toEqual({ job: null, why: null });
});

it("is assigned to a node that was silent and speaks again", async () => {
  const messages = await listen(first);
  await pass(60_000, [second]);
  await submit({});
  await vi.waitFor(() => expect(test.hub.jobs.queues.get("default")?.signal.waiting).toBe(1), 20_000);
  expect([isWatched(first), messages]).toEqual([true, []]);
  await speak(first);
  notifyQueues(test.hub.jobs, ["default"]);
  await vi.waitFor(() => expect(messages).toEqual(NOTICE), 20_000);
});

it("is assigned to others while the claim of one node takes long", async () => {
  const [one, two] = [await listen(first), await listen(second)];
  const { locks } = test.hub;
  const run = locks.run.bind(locks);
  const gate = Promise.withResolvers<undefined>();
  let isFirst = true;
  const slowOnce: typeof run = async (key, task) => {
    const isSlow = isFirst && key.startsWith("run ");
    if (isSlow) isFirst = false;
    if (isSlow) await gate.promise;
    return run(key, task);
  };
  Object.assign(locks, { run: slowOnce });
  try {
    const [slow = ""] = await submit({});
    await vi.waitFor(async () => expect(await outcomesOf(slow)).toEqual([null]), 20_000);
    await submit({});
    await vi.waitFor(() => expect(two).toEqual(NOTICE), 20_000);
    expect(one).toEqual([]);
    gate.resolve(undefined);
    await vi.waitFor(() => expect(one).toEqual(NOTICE), 20_000);
    expect((await take(first)).id).toBe(slow);
  } finally {
    gate.resolve(undefined);
    Object.assign(locks, { run });
  }
});

it("leaves out no node for good, and lets no bucket wait for another, when many claims take long", async () => {
  const nodes: TestNode[] = [first, second];
  while (nodes.length < 10) nodes.push(await addTestNode(test.hub, profileId, `gpu-${nodes.length + 1}`));
  const elsewhere = await addTestProfile(test.hub, store.endpoint, { name: "elsewhere", prefix: "elsewhere/" });
  nodes.push(await addTestNode(test.hub, elsewhere, "elsewhere-1"));
  const messages: NodeMessage[][] = [];
  for (const node of nodes) messages.push(await listen(node));
  const { locks } = test.hub;
  const run = locks.run.bind(locks);
  const gate = Promise.withResolvers<undefined>();
  const slow: typeof run = async (key, task) => {
    if (key.startsWith("run ")) await gate.promise;
    return run(key, task);
  };
  Object.assign(locks, { run: slow });
  try {
    await submit(...nodes.map((_, index) => ({ name: `job-${index}` })));
    const reserved = () => test.hub.db.job.count({ where: { state: "running" } });
    // Eight of the first bucket, and the one of the other.
    await vi.waitFor(async () => expect(await reserved()).toBe(9), 20_000);
    notifyQueues(test.hub.jobs, ["default"]);
    await vi.waitFor(() => expect(test.hub.jobs.queues.get("default")?.signal.waiting).toBe(1), 20_000);
    expect(await reserved()).toBe(9);
  } finally {
    gate.resolve(undefined);
    Object.assign(locks, { run });
  }
  await vi.waitFor(() => expect(messages.map((sent) => sent.length)).toEqual(nodes.map(() => 1)), 20_000);
});
