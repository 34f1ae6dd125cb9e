import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { GROUP_EVERY_MS, GROUP_WAIT_MS } from "#protocol/alerts/alert-words.ts";
import { ALERT_SETTLE_MS, isQuiet } from "#protocol/alerts/alerts.ts";
import { makeRunBacklog } from "#protocol/testing/make-run-backlog.ts";
import { noteRefusal } from "#server/core/accounts/auth/refusals.ts";
import { runName } from "#protocol/base/names.ts";
import { ENDED_UNSAFE, type RunBacklog } from "#protocol/wire/reports.ts";
import {
  addTestNode,
  addTestProfile,
  addTestWriter,
  callAs,
  openTestHub,
  report,
  type TestHub,
  type TestNode,
} from "#server/testing/open-test-hub.ts";
import { noticeSilence } from "#server/http/tick.ts";
import { deliverDue } from "./deliver.ts";
import { newId } from "#server/platform/random-id.ts";
import { evaluate } from "./evaluate.ts";
import { openReceiver, type Receiver } from "#server/testing/open-receiver.ts";

const MINUTE_MS = 60_000;
let test: TestHub;
let receiver: Receiver;
let profileId: string;
let channelId: string;
beforeEach(async () => {
  receiver = await openReceiver();
  test = await openTestHub();
  profileId = await addTestProfile(test.hub, "http://127.0.0.1:9");
  for (const { id } of await admin().rules.list()) await admin().rules.remove({ id });
  const secret = { url: `${receiver.url}/hook`, key: "a-signing-key-of-some-length" };
  channelId = (await admin().channels.create({ channel: { name: "hook", kind: "webhook", perMinute: 60 }, secret })).id;
});
afterEach(async () => {
  await test.close();
  await receiver.close();
});

const admin = () => callAs(test.hub, "admin").alerts;
const addRule = async (condition: object, changes: object = {}): Promise<string> => {
  const rule = { name: "the rule", condition, channelIds: [channelId], ...changes };
  return (
    await admin().rules.create({ rule: rule as Parameters<ReturnType<typeof admin>["rules"]["create"]>[0]["rule"] })
  ).id;
};
const active = async () => (await admin().active({})).rows;
const history = async () => (await admin().history({})).rows;
/** Looks now, and again when what was found has settled. */
async function look(): Promise<void> {
  await noticeSilence(test.hub);
  await evaluate(test.hub);
  test.advance(ALERT_SETTLE_MS);
  await evaluate(test.hub);
}
/** Everything that the channel was told so far. */
async function told(): Promise<{ kind: string; title: string; count: number; lines: string[] }[]> {
  await evaluate(test.hub);
  await deliverDue(test.hub);
  return receiver.got.map(
    ({ body }) => JSON.parse(body) as { kind: string; title: string; count: number; lines: string[] },
  );
}
const say = (node: TestNode, changes: object = {}) =>
  callAs(test.hub, node.caller).node.progress({ ...report(test.hub), ...changes });
const run = (changes: Partial<RunBacklog> = {}): RunBacklog => {
  const now = test.hub.now();
  const safe = { safeStep: 5, safeAt: now, safeBytes: 10, localStep: 5, localAt: now, startedAt: now };
  return makeRunBacklog({ ...safe, ...changes });
};
const silence = async (count = 1): Promise<TestNode[]> => {
  const nodes = [];
  for (let at = 1; at <= count; at++) nodes.push(await addTestNode(test.hub, profileId, `gpu-${at}`));
  for (const node of nodes) await say(node);
  test.advance(6 * MINUTE_MS);
  return nodes;
};

async function addCompleteCheckpoint(run: string, nodeId: string): Promise<void> {
  const at = new Date(test.hub.now());
  await test.hub.db.checkpoint.create({
    data: {
      id: newId(),
      run,
      step: 5n,
      writerEpoch: 1,
      attempt: "00000001",
      nodeId,
      profileId,
      bucket: "checkpoints",
      prefix: "",
      state: "complete",
      metrics: "{}",
      fileCount: 1,
      sizeBytes: 10n,
      capturedAt: at,
      announcedAt: at,
      committedAt: at,
    },
  });
}

describe("what fires", () => {
  it("a silent node, until it speaks again", async () => {
    await addRule({ kind: "silent", longerThanMs: 5 * MINUTE_MS });
    const [node] = await silence();
    await look();
    expect(await active()).toMatchObject([
      { kind: "silent", nodeName: "gpu-1", ruleName: "the rule", resolvedAt: null },
    ]);
    if (node !== undefined) await say(node);
    await look();
    expect(await active()).toEqual([]);
    expect(await history()).toMatchObject([{ nodeName: "gpu-1" }]);
    expect((await history())[0]?.resolvedAt).not.toBeNull();
  });

  it("nothing that was true for a moment only", async () => {
    await addRule({ kind: "silent", longerThanMs: 5 * MINUTE_MS });
    const [node] = await silence();
    await noticeSilence(test.hub);
    await evaluate(test.hub);
    if (node !== undefined) await say(node);
    await look();
    expect([...(await active()), ...(await history())]).toEqual([]);
  });

  it("a run with more work at risk than allowed, of those that are meant", async () => {
    await addRule({ kind: "at-risk", longerThanMs: 30 * MINUTE_MS }, { scope: { runs: "lla*" } });
    const node = await addTestNode(test.hub, profileId, "gpu-1");
    const old = test.hub.now() - 40 * MINUTE_MS;
    const other = { ...run({ safeAt: old, startedAt: old }), run: runName.parse("mistral") };
    await say(node, { runs: [run({ safeAt: old, startedAt: old }), other] });
    await look();
    expect(await active()).toMatchObject([{ kind: "at-risk", run: "llama", nodeName: "gpu-1" }]);
    await say(node, { runs: [run(), other] });
    await look();
    expect(await active()).toEqual([]);
  });

  it("a program that ended with nothing of its run safe, until a checkpoint is", async () => {
    await addRule({ kind: "nothing-safe" });
    const node = await addTestNode(test.hub, profileId, "gpu-1");
    await addTestWriter(test.hub, "llama", node.nodeId);
    await addTestWriter(test.hub, "mistral", node.nodeId);
    const refused = (about: { seq: number; op: string; run: string; detail: string }) => ({
      seq: about.seq,
      at: test.hub.now(),
      type: "capture-refused" as const,
      run: runName.parse(about.run),
      path: "/w/notes.bin",
      fault: { code: "NO_CHECKPOINT" as const, op: about.op, detail: about.detail },
    });
    const ended = "the program ended and nothing that it wrote is safe (notes.bin (2.0 GB) and 3 more)";
    const events = [
      refused({ seq: 1, op: "capture", run: "mistral", detail: "no checkpoint format" }),
      refused({ seq: 2, op: ENDED_UNSAFE, run: "llama", detail: ended }),
    ];
    await callAs(test.hub, node.caller).node.record({ events });
    await look();
    expect(await active()).toMatchObject([
      {
        kind: "nothing-safe",
        nodeName: "gpu-1",
        run: "llama",
        text: `kept nothing of llama: ${ended}`,
        path: "/runs/llama",
      },
    ]);
    test.advance(MINUTE_MS);
    await addCompleteCheckpoint("llama", node.nodeId);
    await look();
    expect(await active()).toEqual([]);
  });

  it("a node that moves nothing of what waits, and not one that was paused", async () => {
    await addRule({ kind: "stalled", longerThanMs: 10 * MINUTE_MS });
    const [stuck, moving] = [
      await addTestNode(test.hub, profileId, "stuck"),
      await addTestNode(test.hub, profileId, "moving"),
    ];
    const waiting = { unsafeCheckpoints: 1, unsafeBytes: 100 };
    for (let movedBytes = 0; movedBytes < 3; movedBytes++) {
      await say(stuck, { runs: [run(waiting)] });
      await say(moving, { runs: [run({ ...waiting, movedBytes })] });
      await evaluate(test.hub);
      test.advance(6 * MINUTE_MS);
    }
    await say(stuck, { runs: [run(waiting)] });
    await say(moving, { runs: [run({ ...waiting, movedBytes: 9 })] });
    await look();
    expect((await active()).map(({ nodeName }) => nodeName)).toEqual(["stuck"]);
  });

  it("a disk that is nearly full, until a little more than that is free", async () => {
    await addRule({ kind: "disk-full", lessPercent: 10 });
    const node = await addTestNode(test.hub, profileId, "gpu-1");
    const disk = (freeBytes: number) => say(node, { disk: { freeBytes, totalBytes: 1_000, path: "/" } });
    await disk(99);
    await look();
    expect(await active()).toMatchObject([{ kind: "disk-full" }]);
    await disk(110);
    await look();
    expect(await active()).toHaveLength(1);
    await disk(130);
    await look();
    expect(await active()).toEqual([]);
  });

  it("a run without a checkpoint for too long", async () => {
    await addRule({ kind: "no-checkpoint", longerThanMs: 60 * MINUTE_MS });
    const node = await addTestNode(test.hub, profileId, "gpu-1");
    await say(node, { runs: [run({ safeAt: test.hub.now() - 61 * MINUTE_MS })] });
    await look();
    expect(await active()).toMatchObject([{ kind: "no-checkpoint", run: "llama", path: "/runs/llama" }]);
  });

  it("many failed sign-ins", async () => {
    await addRule({ kind: "sign-ins-failed", moreThan: 2, withinMs: 10 * MINUTE_MS });
    const refused = () => noteRefusal(test.hub, { by: "password", address: "198.51.100.1" });
    for (let count = 0; count < 2; count++) await refused();
    await look();
    expect(await active()).toEqual([]);
    await refused();
    await look();
    expect(await active()).toMatchObject([
      { kind: "sign-ins-failed", path: "/settings", text: "3 sign-ins failed within 10 min" },
    ]);
  });

  it("many rejected nodes, a failed restore and lost work, by what the database knows", async () => {
    await addRule({ kind: "rejected", morePercent: 50, leastNodes: 2 });
    await addRule({ kind: "restore-failed" });
    await addRule({ kind: "work-lost", moreThanMs: MINUTE_MS });
    const nodes = [await addTestNode(test.hub, profileId, "a"), await addTestNode(test.hub, profileId, "b")];
    const probe = { machineId: null, reason: "slow", rttMs: 1, clockSkewMs: 0, up: 1, down: 1, attempts: 1, tookMs: 1 };
    for (const [at, node] of nodes.entries()) {
      const id = `probe-000${at}`;
      const thresholds = { up: 5, down: null };
      await callAs(test.hub, node.caller).node.probed({ ...probe, id, thresholds, outcome: "reject" });
    }
    const [first] = nodes;
    if (first === undefined) throw new Error("no node");
    const checkpoint = { checkpointId: "checkpoint-0001", run: runName.parse("llama"), step: 5 };
    const ended = {
      type: "transfer-ended" as const,
      transferId: "transfer-0001",
      direction: "download" as const,
      state: "failed" as const,
      ...checkpoint,
      bytes: 1,
      files: 1,
      sentBytes: 0,
      startedAt: 1,
      retries: 0,
      connections: 1,
      startedBy: "operator" as const,
      fault: { code: "NO_SPACE" as const },
    };
    const lost = { type: "work-lost" as const, lossId: "loss-00001", run: checkpoint.run, writerEpoch: 1 };
    const cost = { fromStep: 1, lastStep: 9, lostSteps: 8, lostMs: 5 * MINUTE_MS };
    const at = test.hub.now();
    await addTestWriter(test.hub, checkpoint.run, first.nodeId);
    await callAs(test.hub, first.caller).node.record({
      events: [
        { ...ended, seq: 1, at },
        { ...lost, ...cost, seq: 2, at },
      ],
    });
    await look();
    const found = (await active()).map(({ kind, text }) => ({ kind, text }));
    expect(found.map(({ kind }) => kind).toSorted()).toEqual(["rejected", "restore-failed", "work-lost"]);
    expect(found.find(({ kind }) => kind === "rejected")?.text).toContain("2 of the 2 nodes");
    expect(found.find(({ kind }) => kind === "restore-failed")?.text).toContain("disk space");
  });

  it("nothing of a rule that is off or removed, and what fired of it ends untold", async () => {
    const id = await addRule({ kind: "silent", longerThanMs: 5 * MINUTE_MS });
    await silence();
    await look();
    await admin().rules.remove({ id });
    await look();
    expect(await active()).toEqual([]);
    expect(await told()).toEqual([]);
  });
});

it("what fires is listed the gravest first, then the newest", async () => {
  await addRule({ kind: "silent", longerThanMs: 5 * MINUTE_MS }, { name: "grave", severity: "critical" });
  await silence();
  await look();
  await addRule({ kind: "silent", longerThanMs: 5 * MINUTE_MS }, { name: "less" });
  await look();
  expect((await active()).map(({ severity }) => severity)).toEqual(["critical", "warning"]);
  expect((await admin().active({ limit: 1 })).rows.map(({ severity }) => severity)).toEqual(["critical"]);
});

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

it("a hub has sensible rules from the start, and one that was removed does not come back", async () => {
  const fresh = await openTestHub();
  const rules = () => callAs(fresh.hub, "admin").alerts.rules.list();
  const before = await rules();
  expect(before.map(({ rule }) => rule.condition.kind).toSorted()).toEqual([
    "at-risk",
    "bucket-away",
    "claim-refused",
    "disk-full",
    "doubtful",
    "no-checkpoint",
    "nothing-safe",
    "rejected",
    "restore-failed",
    "sign-ins-failed",
    "silent",
    "stalled",
    "work-lost",
  ]);
  await callAs(fresh.hub, "admin").alerts.rules.remove({ id: "default-silent" });
  await fresh.restart();
  expect(await rules()).toHaveLength(before.length - 1);
  await fresh.close();
});
