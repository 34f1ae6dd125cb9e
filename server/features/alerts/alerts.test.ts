import { describe, expect, it } from "vitest";
import { noteRefusal } from "#server/core/accounts/auth/refusals.ts";
import { runName } from "#protocol/base/names.ts";
import { ENDED_UNSAFE } from "#protocol/wire/reports.ts";
import { addTestNode, addTestWriter, callAs, openTestHub } from "#server/testing/open-test-hub.ts";
import { markSilentNodes } from "#server/http/tick.ts";
import {
  active,
  addCompleteCheckpoint,
  addRule,
  admin,
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

const MIB = 1024 ** 2;

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
    await markSilentNodes(test.hub);
    await evaluate(test.hub);
    if (node !== undefined) await say(node);
    await look();
    expect([...(await active()), ...(await history())]).toEqual([]);
  });

  it("a checkpoint that may not be whole until a later one is, and a final model until a later final model is", async () => {
    await addRule({ kind: "doubtful", withinMs: 60 * MINUTE_MS });
    const { nodeId } = await addTestNode(test.hub, profileId, "gpu-1");
    let written = 0;
    const put = async (step: number, data: { doubt?: string; role?: string }) => {
      await addCompleteCheckpoint({ run: "llama", nodeId, step });
      const capturedAt = new Date(test.hub.now() + ++written);
      await test.hub.db.checkpoint.updateMany({ where: { step: BigInt(step) }, data: { ...data, capturedAt } });
    };
    const told = async () => {
      await look();
      return (await active()).map(({ text }) => text);
    };
    await addTestWriter(test.hub, "llama", nodeId);
    await put(10, {});
    await put(9, { role: "final-model", doubt: "a shard is missing" });
    expect(await told()).toEqual(["kept the final model of llama, which may not be whole: a shard is missing"]);
    await put(8, { role: "final-model" });
    expect(await told()).toEqual([]);
    await put(20, { doubt: "a name is left out" });
    expect(await told()).toEqual(["kept step 20 of llama, which may not be whole: a name is left out"]);
    await put(30, {});
    expect(await told()).toEqual([]);
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
    await addCompleteCheckpoint({ run: "llama", nodeId: node.nodeId, step: 5 });
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

  it("the disk of the hub and the log of its database, until there is room and the log is short", async () => {
    await addRule({ kind: "hub-disk", lessFreeBytes: 512 * MIB, moreLogBytes: 256 * MIB });
    await look();
    expect(await active()).toEqual([]);
    test.hub.counters.database = { logBytes: 300 * MIB, freeBytes: 100 * MIB };
    await look();
    const found = await active();
    expect(found.map(({ text }) => text).toSorted()).toEqual([
      "the disk of the hub has 100 MiB free",
      "the write-ahead log of the hub's database is 300 MiB long: most likely a program reads hub.db in one transaction that does not end",
    ]);
    expect(found[0]).toMatchObject({ kind: "hub-disk", path: "/settings", nodeName: null });
    test.hub.counters.database = { logBytes: 1024, freeBytes: 900 * MIB };
    await look();
    expect(await active()).toEqual([]);
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
    await deliverDue(test.hub);
    expect(receiver.got).toEqual([]);
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

it("a hub has sensible rules from the start, and one that was removed does not come back", async () => {
  const fresh = await openTestHub();
  const rules = () => callAs(fresh.hub, "admin").alerts.rules.list();
  const before = await rules();
  expect(before.map(({ rule }) => rule.condition.kind).toSorted()).toEqual([
    "at-risk",
    "began-elsewhere",
    "bucket-away",
    "claim-refused",
    "disk-full",
    "doubtful",
    "hub-disk",
    "job-failed",
    "no-checkpoint",
    "nothing-safe",
    "queue-stuck",
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
