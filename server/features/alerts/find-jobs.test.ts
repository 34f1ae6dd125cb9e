import { expect, it } from "vitest";
import { active, addRule, alertsForEach, look, MINUTE_MS, profileId, test } from "#server/testing/alerts-for-each.ts";
import { addTestNode, callAs } from "#server/testing/open-test-hub.ts";

/** Alerts about jobs and queues. */

alertsForEach();

const jobs = () => callAs(test.hub, "operator").jobs;
async function submit(name: string): Promise<string> {
  const { jobs: made } = await jobs().submit({ jobs: [{ command: "python", name, queue: "gpu" }] });
  return made[0]?.id ?? "";
}
const textsOf = async () => (await active()).map(({ nodeName, run, text }) => [nodeName, run, text]);

it("a failed job fires until somebody retries it, at the node that failed it last", async () => {
  const { nodeId } = await addTestNode(test.hub, profileId, "gpu-1");
  await addRule({ kind: "job-failed" });
  const id = await submit("llama");
  await look();
  expect(await active()).toEqual([]);
  const data = { state: "failed", reason: "ended with code 1", nodeId, endedAt: new Date(test.hub.now()) };
  await test.hub.db.job.update({ where: { id }, data });
  await look();
  expect(await textsOf()).toEqual([["gpu-1", "llama", "failed the job llama for the last time: ended with code 1"]]);
  await jobs().retry({ which: { ids: [id] } });
  await look();
  expect(await active()).toEqual([]);
});

it("a queue whose jobs wait while none runs fires after its time, and not while it is paused", async () => {
  await addRule({ kind: "queue-stuck" });
  const id = await submit("llama");
  await look();
  test.advance(29 * MINUTE_MS);
  await look();
  expect(await active()).toEqual([]);
  test.advance(2 * MINUTE_MS);
  await look();
  expect(await textsOf()).toEqual([
    [null, null, "The queue gpu does not move: one job waits, and no node took one for 30 min"],
  ]);
  await jobs().pauseQueue({ queue: "gpu" });
  await look();
  expect(await active()).toEqual([]);
  await jobs().resumeQueue({ queue: "gpu" });
  await look();
  expect(await active()).toHaveLength(1);
  const other = await submit("mistral");
  await test.hub.db.job.update({ where: { id: other }, data: { state: "running" } });
  await look();
  expect(await active()).toEqual([]);
  await jobs().cancel({ which: { ids: [id, other] } });
  await look();
  expect(await active()).toEqual([]);
});
