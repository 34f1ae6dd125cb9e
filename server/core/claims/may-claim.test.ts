import { beforeEach, describe, expect, it } from "vitest";
import { nodeName, runName } from "#protocol/base/names.ts";
import { fault } from "#server/testing/match-fault.ts";
import { hubForEach, store, test } from "#server/testing/hub-for-each.ts";
import {
  addTestProfile,
  callAs,
  facts,
  joinGroup,
  NOBODY,
  report,
  type TestNode,
} from "#server/testing/open-test-hub.ts";
import { announce, makeSafe, run } from "#server/testing/stage-checkpoint.ts";
import { clearBucket } from "#server/testing/test-bucket.ts";
import { evaluate } from "#server/features/alerts/evaluate.ts";

/** Whose a run is: two takeovers by a node that is a stranger to it, and every way in which another node may go on. */

hubForEach();
let profileId: string;
let victim: TestNode;
/** The token of the fleet that writes the run. */
let ofTheRun: string;
beforeEach(async () => {
  profileId = await addTestProfile(test.hub, store.endpoint);
  ofTheRun = await newToken(null);
  victim = await enrol("victim", { token: ofTheRun });
  await clearBucket(test.hub, profileId);
  await claim(victim);
});

const other = runName.parse("other");
const as = (who: TestNode) => callAs(test.hub, who.caller).node;
const claim = (who: TestNode, name = run) => as(who).claimEpoch({ run: name });
const speak = (who: TestNode) => as(who).progress(report(test.hub));
const writer = () => test.hub.live.writers.get(run)?.nodeId;

async function newToken(runs: string | null): Promise<string> {
  const request = { label: "", profileId, maxUses: 10, validMs: 3_600_000, runs };
  return (await callAs(test.hub, "admin").tokens.create(request)).token;
}

/** A node that came with a token for `runs`, of its own unless one is given, and named `names` when it enrolled. */
async function enrol(name: string, about: { runs?: string; names?: string[]; token?: string } = {}): Promise<TestNode> {
  const { runs = null, names } = about;
  const token = about.token ?? (await newToken(runs));
  const answer = await callAs(test.hub, NOBODY).node.enrol({
    token,
    name: nodeName.parse(name),
    protocol: 1,
    facts,
    ...(names !== undefined && { runs: names.map((one) => runName.parse(one)) }),
  });
  return { ...answer, caller: { kind: "node", nodeId: answer.nodeId, name: answer.name, profileId } };
}

async function firing(): Promise<string[]> {
  await evaluate(test.hub);
  test.advance(11_000);
  await speak(victim);
  await evaluate(test.hub);
  const { rows } = await callAs(test.hub, "viewer").alerts.active({ limit: 100 });
  return rows.filter(({ kind }) => kind === "claim-refused").map(({ nodeName: who, text }) => `${who} ${text}`);
}

describe("a stranger that claims a run", () => {
  it("is refused while its writer is heard, changes nothing for it, and is alerted on", async () => {
    const stranger = await enrol("stranger", { names: [run], token: ofTheRun });
    await expect(claim(stranger)).rejects.toEqual(fault("RUN_IN_USE"));
    test.advance(10_000);
    await speak(victim);
    await expect(claim(stranger)).rejects.toEqual(fault("RUN_IN_USE"));
    expect(writer()).toBe(victim.nodeId);
    await makeSafe(test.hub, victim, { epoch: 1, step: 10 });
    await expect(announce(test.hub, stranger, { epoch: 2, step: 99 })).rejects.toEqual(fault("EPOCH_OVER"));
    expect(await firing()).toEqual([`stranger asked to write ${run}, which victim writes`]);
  });

  it("is refused a run that it did not name when it enrolled, also when nobody is heard, and is alerted on", async () => {
    const stranger = await enrol("stranger", { names: ["its-own"] });
    test.advance(3_600_000);
    await expect(claim(stranger)).rejects.toEqual(fault("RUN_NOT_ALLOWED"));
    expect((await claim(victim)).epoch).toBe(1);
    expect(await firing()).toEqual([`stranger asked to write ${run}, which it may not write`]);
  });

  it("is refused what the pattern of its token does not cover, with no row of a run made for it", async () => {
    const stranger = await enrol("stranger", { runs: "eval-*", names: [run] });
    await expect(claim(stranger, other)).rejects.toEqual(fault("RUN_NOT_ALLOWED"));
    await expect(claim(stranger)).rejects.toEqual(fault("RUN_NOT_ALLOWED"));
    expect(await test.hub.db.run.count()).toBe(1);
    expect((await claim(stranger, runName.parse("eval-1"))).epoch).toBe(1);
  });

  it("is refused a run of others that it named when it enrolled, when its token is not theirs, also when nobody is heard, and is alerted on", async () => {
    const stranger = await enrol("stranger", { names: [run, "its-own"] });
    test.advance(3_600_000);
    await expect(claim(stranger)).rejects.toEqual(fault("RUN_NOT_ALLOWED"));
    expect((await claim(stranger, runName.parse("its-own"))).epoch).toBe(1);
    expect((await claim(victim)).epoch).toBe(1);
    expect(await firing()).toEqual([`stranger asked to write ${run}, which it may not write`]);
    const withPattern = await enrol("with-pattern", { runs: `${run}*`, names: [run] });
    test.advance(31_000);
    expect((await claim(withPattern)).epoch).toBe(2);
  });

  it("goes on where nobody knows how the last writer came", async () => {
    await test.hub.db.node.update({ where: { id: victim.nodeId }, data: { tokenId: null } });
    const newer = await enrol("newer", { names: [run] });
    test.advance(31_000);
    expect((await claim(newer)).epoch).toBe(2);
  });

  it("that says it is the victim's machine is refused like any other", async () => {
    await test.hub.db.node.update({
      where: { id: victim.nodeId },
      data: { facts: JSON.stringify({ ...facts, machineId: "m" }) },
    });
    const stranger = await enrol("stranger", { names: [run], token: ofTheRun });
    await as(stranger).hello({ protocol: 1, bootId: "boot-000000000001", facts: { ...facts, machineId: "m" } });
    await expect(claim(stranger)).rejects.toEqual(fault("RUN_IN_USE"));
  });

  it("of which no run is known yet is bound to the first run of others that it claims", async () => {
    const older = await enrol("older", { token: ofTheRun });
    test.advance(31_000);
    expect((await claim(older)).epoch).toBe(2);
    await claim(victim, other);
    test.advance(31_000);
    await expect(claim(older, other)).rejects.toEqual(fault("RUN_NOT_ALLOWED"));
  });
});

describe("another node goes on with a run", () => {
  it("by itself once the writer has been silent for its lease", async () => {
    const replacement = await enrol("replacement", { names: [run], token: ofTheRun });
    test.advance(20_000);
    await expect(claim(replacement)).rejects.toEqual(fault("RUN_IN_USE"));
    test.advance(11_000);
    expect((await claim(replacement)).epoch).toBe(2);
    // A claim that had to wait for a writer that is gone is no alert.
    expect(await firing()).toEqual([]);
  });

  it("at once when the writer has left, or was revoked", async () => {
    const replacement = await enrol("replacement", { names: [run], token: ofTheRun });
    await as(victim).goodbye();
    expect((await claim(replacement)).epoch).toBe(2);
    await callAs(test.hub, "admin").nodes.revoke({ id: replacement.nodeId });
    const third = await enrol("third", { names: [run], token: ofTheRun });
    expect((await claim(third)).epoch).toBe(3);
  });

  it("at once when it is of the same container group by the word of the platform", async () => {
    const replacement = await enrol("replacement", { names: [run] });
    await joinGroup(test.hub, victim, replacement);
    expect((await claim(replacement)).epoch).toBe(2);
  });

  it("by the word of an operator, once, whatever its token says", async () => {
    const chosen = await enrol("chosen", { runs: "eval-*" });
    await expect(callAs(test.hub, "viewer").runs.handOver({ run, nodeId: chosen.nodeId })).rejects.toEqual(
      fault("ROLE_REQUIRED"),
    );
    await expect(claim(chosen)).rejects.toEqual(fault("RUN_NOT_ALLOWED"));
    expect((await callAs(test.hub, "viewer").runs.get({ run })).askedBy).toMatchObject([{ nodeName: "chosen" }]);
    await callAs(test.hub, "operator").runs.handOver({ run, nodeId: chosen.nodeId });
    expect((await callAs(test.hub, "viewer").runs.get({ run })).handedTo).toMatchObject({ nodeName: "chosen" });
    expect((await claim(chosen)).epoch).toBe(2);
    // It is the writer now, and stays it over restarts; the one before is a node like any other.
    expect((await claim(chosen)).epoch).toBe(2);
    await expect(claim(victim)).rejects.toEqual(fault("RUN_IN_USE"));
    expect((await callAs(test.hub, "viewer").runs.get({ run })).handedTo).toBeNull();
  });

  it("when its page lets it", async () => {
    const node = await enrol("node", { names: ["its-own"] });
    test.advance(31_000);
    await expect(claim(node)).rejects.toEqual(fault("RUN_NOT_ALLOWED"));
    await callAs(test.hub, "operator").nodes.setRuns({ id: node.nodeId, runs: `its-own, ${run}` });
    expect((await claim(node)).epoch).toBe(2);
  });

  it("not before a hub that was restarted has given the writer the time to speak", async () => {
    const replacement = await enrol("replacement", { names: [run], token: ofTheRun });
    test.advance(3_600_000);
    await speak(victim);
    await test.restart();
    test.advance(20_000);
    await expect(claim(replacement)).rejects.toEqual(fault("RUN_IN_USE"));
    test.advance(11_000);
    expect((await claim(replacement)).epoch).toBe(2);
  });
});
