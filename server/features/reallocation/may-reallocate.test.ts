import { describe, expect, it } from "vitest";
import type { ProbeOutcome, ProbeReport } from "#protocol/links/probe.ts";
import { node, nodeForEach, profileId, test } from "#server/testing/node-for-each.ts";
import { addTestNode, addTestProfile, callAs, type TestNode } from "#server/testing/open-test-hub.ts";
import { newId } from "#server/platform/random-id.ts";
import { fault } from "#server/testing/match-fault.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
nodeForEach();

const probe = (outcome: ProbeOutcome, changes: Partial<ProbeReport> = {}): ProbeReport => ({
  id: newId(),
  machineId: "machine-1",
  outcome,
  reason: outcome === "accept" ? "the link does what is asked of it" : "9.0 Mbps up where 20.0 Mbps are asked for",
  rttMs: 31.5,
  clockSkewMs: 0,
  up: outcome === "accept" ? 5_000_000 : 1_125_000,
  down: 9_000_000,
  thresholds: { up: 2_500_000, down: 6_250_000, rttMs: null },
  attempts: 1,
  tookMs: 21_000,
  ...changes,
});

const ask = (who: TestNode) => callAs(test.hub, who.caller).node;
const tell = (who: TestNode, report: ProbeReport) => ask(who).probed(report);
const may = (who: TestNode, machineId: string | null = "machine-1", requestId = newId()) =>
  ask(who).mayReallocate({ requestId, machineId, probeId: null });
const memory = async (who: TestNode, machineId: string | null = "machine-1") =>
  (await ask(who).probeTarget({ machineId })).machine;
const lines = async () => {
  const query = { nodeId: null, run: null, cursor: null, limit: 50 };
  const { rows } = await callAs(test.hub, "viewer").events.list(query);
  return rows.filter(({ kind }) => kind === "link-probed").map(({ text }) => text);
};

describe("probes", () => {
  it("are told where the bytes of the node go", async () => {
    const target = await ask(node).probeTarget({ machineId: null });
    expect(target).toMatchObject({
      nodeId: node.nodeId,
      store: { bucket: "training", prefix: "team/" },
      machine: null,
    });
  });

  it("are kept once however often they arrive, and told in the history", async () => {
    const report = probe("accept");
    await tell(node, report);
    await tell(node, report);
    expect(await test.hub.db.probe.count()).toBe(1);
    expect(await lines()).toEqual(["measured its link: 40.0 Mbps up, 72.0 Mbps down"]);
    await tell(node, probe("reject"));
    expect((await lines())[0]).toBe("was rejected: 9.0 Mbps up where 20.0 Mbps are asked for");
    const failed = { up: null, down: null, reason: "the rate up could not be measured" };
    await tell(node, probe("warn", failed));
    expect((await lines())[0]).toBe("could not measure its link (the rate up could not be measured)");
  });

  it("are forgotten after a month", async () => {
    await tell(node, probe("accept"));
    test.advance(31 * 24 * HOUR_MS);
    await tell(node, probe("accept"));
    expect(await test.hub.db.probe.count()).toBe(1);
  });

  it("are taken from nodes only", async () => {
    for (const who of ["admin", { kind: "nobody" }] as const) {
      const caller = callAs(test.hub, who).node;
      await expect(caller.probed(probe("accept"))).rejects.toEqual(fault("NODE_UNKNOWN"));
      await expect(caller.probeTarget({ machineId: null })).rejects.toEqual(fault("NODE_UNKNOWN"));
      const question = { requestId: newId(), machineId: null, probeId: null };
      await expect(caller.mayReallocate(question)).rejects.toEqual(fault("NODE_UNKNOWN"));
    }
  });
});

describe("what is remembered of a machine", () => {
  it("good for a day, whichever node is on it", async () => {
    await tell(node, probe("accept"));
    const later = await addTestNode(test.hub, profileId, "gpu");
    expect(await memory(later)).toMatchObject({ verdict: "good", up: 5_000_000, down: 9_000_000 });
    expect(await memory(later, "machine-2")).toBeNull();
    expect(await memory(later, null)).toBeNull();
    test.advance(24 * HOUR_MS);
    expect(await memory(later)).toBeNull();
  });

  it("where the platform has no names for machines, of the node itself", async () => {
    await tell(node, probe("accept", { machineId: null }));
    expect(await memory(node, null)).toMatchObject({ verdict: "good" });
    expect(await memory(await addTestNode(test.hub, profileId, "gpu-2"), null)).toBeNull();
  });

  it("nothing, when its last probe was doubted or rejected without consequence", async () => {
    await tell(node, probe("accept"));
    await tell(node, probe("warn"));
    expect(await memory(node)).toBeNull();
    await tell(node, probe("reject"));
    expect(await memory(node)).toBeNull();
  });

  it("bad for two days, once it was given back", async () => {
    const report = probe("reject");
    await tell(node, report);
    const question = { requestId: newId(), machineId: "machine-1", probeId: report.id };
    expect(await ask(node).mayReallocate(question)).toMatchObject({ allowed: true });
    const later = await addTestNode(test.hub, profileId, "gpu");
    expect(await memory(later)).toMatchObject({ verdict: "bad", up: 1_125_000, down: 9_000_000 });
    test.advance(47 * HOUR_MS);
    expect(await memory(later)).toMatchObject({ verdict: "bad" });
    test.advance(HOUR_MS);
    expect(await memory(later)).toBeNull();
  });

  it("of each bucket by itself", async () => {
    await tell(node, probe("accept"));
    const elsewhere = await addTestProfile(test.hub, "http://127.0.0.1:10", { name: "other" });
    expect(await memory(await addTestNode(test.hub, elsewhere, "far"))).toBeNull();
  });
});

describe("giving machines back", () => {
  it("ends with the budget of the hour, and goes on when the hour is over", async () => {
    test.hub.settings.reallocation.perHour = 2;
    expect(await may(node, "a")).toMatchObject({ allowed: true });
    expect(await may(node, "b")).toMatchObject({ allowed: true });
    expect(await may(node, "c")).toMatchObject({
      allowed: false,
      reason: "the fleet's budget of 2 reallocations an hour is used up",
    });
    test.advance(HOUR_MS);
    expect(await may(node, "c")).toMatchObject({ allowed: true });
    expect(await lines()).toContain("keeps its machine: the fleet's budget of 2 reallocations an hour is used up");
  });

  it("gives the last of the budget to one of two that ask at the same moment", async () => {
    test.hub.settings.reallocation.perHour = 1;
    const answers = await Promise.all([may(node, "a"), may(node, "b")]);
    expect(answers.filter(({ allowed }) => allowed)).toHaveLength(1);
  });

  it("gives the same answer to the same question, and counts it once", async () => {
    test.hub.settings.reallocation.perHour = 2;
    const requestId = newId();
    const first = await may(node, "a", requestId);
    expect(await may(node, "a", requestId)).toEqual(first);
    expect(await may(node, "b")).toMatchObject({ allowed: true });
    const other = await addTestNode(test.hub, profileId, "gpu-2");
    expect(await may(other, "a", requestId)).toMatchObject({ allowed: false });
  });

  it("lets a machine go that was given back and is here again, whichever node is on it, at no cost", async () => {
    test.hub.settings.reallocation.perHour = 2;
    expect(await may(node)).toMatchObject({ allowed: true, isHereAgain: false });
    test.advance(4 * MINUTE_MS);
    const reason = "this machine was given back 4 min ago and is here again";
    const again = { allowed: true, reason, isHereAgain: true };
    expect(await may(node)).toEqual(again);
    expect(await may(await addTestNode(test.hub, profileId, "gpu-2"))).toEqual(again);
    expect(await lines()).toContain(`leaves its machine: ${reason}`);
    expect(await may(node, "b")).toMatchObject({ allowed: true, isHereAgain: false });
    expect(await may(node, "c")).toMatchObject({ allowed: false });
    expect(await may(node)).toMatchObject({ isHereAgain: true });
  });

  it("forgets that after two days, however often the machine asked meanwhile", async () => {
    await may(node);
    test.advance(47 * HOUR_MS);
    expect(await may(node)).toMatchObject({ isHereAgain: true });
    test.advance(HOUR_MS);
    expect(await may(node)).toMatchObject({ allowed: true, isHereAgain: false });
  });

  it("refuses a machine that came back at once where nothing is remembered of machines", async () => {
    test.hub.settings.reallocation.excludeMs = 0;
    expect(await may(node)).toMatchObject({ allowed: true });
    test.advance(4 * MINUTE_MS);
    expect(await may(node)).toMatchObject({ allowed: false, reason: expect.stringContaining("is here again") });
    test.advance(MINUTE_MS);
    expect(await may(node)).toMatchObject({ allowed: true });
  });

  it("refuses everybody when most machines of a bucket find it too slow, each of them counted once", async () => {
    const [first, second] = await Promise.all([
      addTestNode(test.hub, profileId, "gpu-10"),
      addTestNode(test.hub, profileId, "gpu-11"),
    ]);
    // One machine, that enrolled twice.
    for (const one of [first, first, second]) await tell(one, probe("reject", { machineId: "a" }));
    await tell(node, probe("accept", { machineId: "c" }));
    expect(await may(first, "a")).toMatchObject({ allowed: true });
    await tell(second, probe("reject", { machineId: "b" }));
    expect(await may(node, "b")).toMatchObject({
      allowed: false,
      reason: expect.stringContaining("it is the endpoint"),
    });
    const elsewhere = await addTestProfile(test.hub, "http://127.0.0.1:10", { name: "other" });
    expect(await may(await addTestNode(test.hub, elsewhere, "far"), "c")).toMatchObject({ allowed: true });
    test.advance(10 * MINUTE_MS);
    expect(await may(node, "b")).toMatchObject({ allowed: true });
  });

  it("does not give a small fleet back whole when all of it is rejected", async () => {
    const answers: boolean[] = [];
    for (const machineId of ["a", "b", "c", "d"]) {
      const one = await addTestNode(test.hub, profileId, `gpu-${machineId}`);
      const report = probe("reject", { machineId });
      await tell(one, report);
      const question = { requestId: newId(), machineId, probeId: report.id };
      answers.push((await ask(one).mayReallocate(question)).allowed);
    }
    // Until the second says so it may be the machine.
    expect(answers).toEqual([true, false, false, false]);
  });

  it("is refused to a node that was revoked", async () => {
    await callAs(test.hub, "admin").nodes.revoke({ id: node.nodeId });
    await expect(may(node)).rejects.toEqual(fault("NODE_REVOKED"));
    await expect(tell(node, probe("reject"))).rejects.toEqual(fault("NODE_REVOKED"));
  });

  it("survives a restart of the hub", async () => {
    await may(node);
    await test.restart();
    expect(await may(node)).toMatchObject({ allowed: true, isHereAgain: true });
  });
});
