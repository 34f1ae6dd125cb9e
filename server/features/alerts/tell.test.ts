import { describe, expect, it } from "vitest";
import { GROUP_EVERY_MS, GROUP_WAIT_MS } from "#protocol/alerts/alert-words.ts";
import { CONTINUE_MANY } from "#protocol/checkpoint/continue-words.ts";
import { isQuiet } from "#protocol/alerts/alerts.ts";
import { addTestNode, addTestWriter, callAs } from "#server/testing/open-test-hub.ts";
import {
  active,
  addCompleteCheckpoint,
  addRule,
  alertsForEach,
  history,
  look,
  MINUTE_MS,
  profileId,
  receiver,
  run,
  say,
  silence,
  test,
} from "#server/testing/alerts-for-each.ts";
import { deliverDue } from "./deliver.ts";
import { evaluate } from "./evaluate.ts";

alertsForEach();

/** Everything that the channel was told so far. */
async function told(): Promise<{ kind: string; title: string; count: number; lines: string[]; todo: string }[]> {
  await evaluate(test.hub);
  await deliverDue(test.hub);
  // The hub's own clock may have begun with it.
  await Promise.all(test.hub.alerts.sending.values());
  return receiver.got.map(
    ({ body }) => JSON.parse(body) as { kind: string; title: string; count: number; lines: string[]; todo: string },
  );
}
describe("what is told", () => {
  const firing = async (count = 1, changes: object = {}) => {
    const id = await addRule({ kind: "silent", longerThanMs: 5 * MINUTE_MS }, changes);
    const nodes = await silence(count);
    await look();
    return { id, nodes };
  };

  it("one message for a fleet that falls silent, which names some and counts the rest", async () => {
    await firing(13);
    expect(await told()).toEqual([]);
    test.advance(GROUP_WAIT_MS);
    const messages = await told();
    expect(messages).toMatchObject([{ kind: "firing", title: "13 nodes are silent.", count: 13 }]);
    expect(messages[0]?.lines).toHaveLength(11);
    expect(messages[0]?.lines.at(-1)).toBe("and 3 more");
  });

  it("the step of the hub's record, not the one that the node believes to be safe", async () => {
    await addRule({ kind: "silent", longerThanMs: 5 * MINUTE_MS });
    const node = await addTestNode(test.hub, profileId, "gpu-1");
    await addTestWriter(test.hub, "llama", node.nodeId);
    for (const step of [200, 300]) await addCompleteCheckpoint({ run: "llama", nodeId: node.nodeId, step });
    await say(node, { runs: [run({ safeStep: 300, localStep: 300 })] });
    await test.hub.db.checkpoint.updateMany({ where: { step: 300n }, data: { state: "trashed" } });
    test.advance(6 * MINUTE_MS);
    await look();
    test.advance(GROUP_WAIT_MS);
    const advice = "llama can go on from step 200 on another node.";
    expect((await told()).map(({ todo }) => todo)).toEqual([`See whether the machine still runs. ${advice}`]);
    expect(await active()).toMatchObject([{ advice }]);
    await say(node);
    await look();
    expect(await history()).toMatchObject([{ advice: null }]);
  });

  it("the general advice for several silent nodes", async () => {
    await firing(2);
    test.advance(GROUP_WAIT_MS);
    expect((await told()).map(({ todo }) => todo)).toEqual([expect.stringContaining(CONTINUE_MANY)]);
    expect((await active()).map(({ advice }) => advice)).toEqual([null, null]);
  });

  it("no step of a silent node that writes no run", async () => {
    await firing();
    test.advance(GROUP_WAIT_MS);
    expect((await told()).map(({ todo }) => todo)).toEqual(["See whether the machine still runs."]);
  });

  it("once, however often it is looked at and whatever restarts", async () => {
    await firing();
    test.advance(GROUP_WAIT_MS);
    expect(await told()).toHaveLength(1);
    await test.restart();
    for (let times = 0; times < 3; times++) await look();
    test.advance(GROUP_EVERY_MS);
    await look();
    expect(await told()).toHaveLength(1);
    expect(await active()).toHaveLength(1);
  });

  it("its end as well, to whoever was told that it fires", async () => {
    const { nodes } = await firing();
    test.advance(GROUP_WAIT_MS);
    await told();
    test.advance(GROUP_EVERY_MS);
    for (const node of nodes) await say(node);
    await look();
    expect((await told()).map(({ kind }) => kind)).toEqual(["firing", "resolved"]);
  });

  it("how many of the rule still fire, when some of them are over", async () => {
    const { nodes } = await firing(2);
    test.advance(GROUP_WAIT_MS);
    await told();
    const [first, second] = nodes;
    for (const node of [first, second]) {
      test.advance(GROUP_EVERY_MS);
      if (node !== undefined) await say(node);
      if (node === second && first !== undefined) await say(first);
      await look();
      await told();
    }
    const messages = receiver.got.map(({ body }) => JSON.parse(body) as { kind: string; remaining: number });
    expect(messages.map(({ kind, remaining }) => [kind, remaining])).toEqual([
      ["firing", 2],
      ["resolved", 1],
      ["resolved", 0],
    ]);
  });

  it("what comes within minutes of a message goes together", async () => {
    await firing();
    test.advance(GROUP_WAIT_MS);
    await told();
    for (const name of ["late-1", "late-2"]) await say(await addTestNode(test.hub, profileId, name));
    test.advance(GROUP_EVERY_MS + MINUTE_MS);
    await look();
    test.advance(GROUP_WAIT_MS);
    expect((await told()).map(({ count }) => count)).toEqual([1, 2]);
  });

  it("not what was acknowledged before it went out", async () => {
    await firing();
    const ids = (await active()).map(({ id }) => id);
    expect(await callAs(test.hub, "operator").alerts.acknowledge({ alertIds: ids })).toEqual({ acknowledged: 1 });
    test.advance(GROUP_WAIT_MS);
    expect(await told()).toEqual([]);
    expect(await active()).toMatchObject([{ acknowledgedBy: "operator@example.com" }]);
  });

  it("not what was acknowledged with a thousand others", async () => {
    await firing();
    const [id = ""] = (await active()).map((one) => one.id);
    const alertIds = [...Array.from({ length: 999 }, (_, index) => `nobody-has-${index}`), id];
    expect(await callAs(test.hub, "operator").alerts.acknowledge({ alertIds })).toEqual({ acknowledged: 1 });
  });

  it("not while it is muted, and afterwards what still fires", async () => {
    const { id } = await firing();
    await callAs(test.hub, "operator").alerts.mute({ ruleId: id, forMs: 60 * MINUTE_MS });
    test.advance(59 * MINUTE_MS);
    expect(await told()).toEqual([]);
    test.advance(2 * MINUTE_MS);
    expect(await told()).toHaveLength(1);
  });

  it("not in quiet hours unless it is critical", async () => {
    const clock = (at: number) => new Date(at).toISOString().slice(11, 16);
    const quiet = { timeZone: "UTC", from: clock(test.hub.now()), to: clock(test.hub.now() + 120 * MINUTE_MS) };
    await firing(1, { quiet, severity: "warning" });
    test.advance(GROUP_WAIT_MS);
    expect(await told()).toEqual([]);
    await addRule({ kind: "silent", longerThanMs: 5 * MINUTE_MS }, { quiet, severity: "critical", name: "loud" });
    await look();
    test.advance(GROUP_WAIT_MS);
    expect(await told()).toMatchObject([{ kind: "firing", rule: "loud" }]);
    test.advance(121 * MINUTE_MS);
    expect(await told()).toHaveLength(2);
  });
});

it("quiet hours are those of the wall clock there, also over midnight and when clocks change", () => {
  const quiet = { timeZone: "Europe/Berlin", from: "22:00", to: "07:00" };
  const at = (text: string) => isQuiet(quiet, Date.parse(text));
  expect(at("2026-01-15T21:30:00Z")).toBe(true);
  expect(at("2026-01-15T20:59:00Z")).toBe(false);
  expect(at("2026-01-15T05:59:00Z")).toBe(true);
  expect(at("2026-01-15T06:00:00Z")).toBe(false);
  expect(at("2026-07-15T20:30:00Z")).toBe(true);
  expect(at("2026-07-15T05:30:00Z")).toBe(false);
  expect(isQuiet(null, 0)).toBe(false);
});
