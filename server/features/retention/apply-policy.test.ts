import { describe, expect, it } from "vitest";
import { NO_RULES, type KeepPolicy } from "#protocol/retention/keeping.ts";
import { node, other, test } from "#server/testing/pair-for-each.ts";
import { makeSafe, run } from "#server/testing/stage-checkpoint.ts";
import { fault } from "#server/testing/match-fault.ts";
import { callAs } from "#server/testing/open-test-hub.ts";
import { startUpkeep } from "#server/http/schedule.ts";
import { applyPolicies } from "./apply-policy.ts";
import { historyForEach, idOf } from "#server/testing/history-for-each.ts";
import { addSteps, stepsIn } from "#server/testing/stage-history.ts";

const LAST_TWO: KeepPolicy = { ...NO_RULES, last: 2, trashMs: 2 * 86_400_000 };
historyForEach(5);

const ask = () => callAs(test.hub, "operator").keeping;
const set = async (policy: KeepPolicy | null, of: typeof run | null = run) => {
  const { own } = await ask().policy({ run: of });
  return ask().setPolicy({ run: of, policy, version: own.version });
};
const apply = () => applyPolicies(test.hub, () => false);

describe("a preview", () => {
  it("names every checkpoint with its fate, its reasons and the bytes, and changes nothing", async () => {
    await callAs(test.hub, "operator").checkpoints.pin({ id: idOf(0) });
    const [answer, ...more] = await callAs(test.hub, "viewer").keeping.preview({ run, policy: LAST_TWO });
    expect(more).toEqual([]);
    expect(answer?.rows.map(({ step, fate, because }) => [step, fate, because.map(({ kind }) => kind)])).toEqual([
      [500, "stays", ["newest", "last"]],
      [400, "stays", ["last"]],
      [300, "goes", ["unneeded"]],
      [200, "goes", ["unneeded"]],
      [100, "stays", ["pinned"]],
    ]);
    const size = Buffer.byteLength("weights of step 200");
    expect(answer).toMatchObject({ run, stays: 3, goes: 2, stayBytes: 3 * size, freedBytes: 2 * size });
    expect(await stepsIn(test, "complete")).toEqual([100, 200, 300, 400, 500]);
    await expect(ask().preview({ run: "nothing", policy: null })).rejects.toThrow(fault("NOT_FOUND"));
  });

  it("of a default shows every run that has no policy of its own", async () => {
    expect((await ask().preview({ run: null, policy: LAST_TWO })).map((one) => [one.run, one.goes])).toEqual([
      [run, 3],
    ]);
    await set(NO_RULES);
    expect(await ask().preview({ run: null, policy: LAST_TWO })).toEqual([]);
  });
});

describe("a policy", () => {
  it("moves to the trash what it does not keep, for as long as it says, when its turn comes", async () => {
    await set(LAST_TWO);
    expect(await stepsIn(test, "trashed")).toEqual([]);
    await apply();
    expect(await stepsIn(test, "trashed")).toEqual([100, 200, 300]);
    const rows = await ask().trash({ run });
    expect(rows.map(({ why, by, until, at }) => [why, by, until - at])).toEqual(
      rows.map(() => ["by the policy: no rule keeps it", "hub", LAST_TWO.trashMs]),
    );
    await addSteps(test, node, { from: 6, count: 1 });
    await apply();
    expect(await stepsIn(test, "complete")).toEqual([500, 600]);
  });

  it("never takes the last one that was read back and found right, but one that was found damaged since", async () => {
    await set(LAST_TWO);
    const { checkpoint } = test.hub.db;
    await checkpoint.update({ where: { id: idOf(0) }, data: { verifiedAt: new Date(2), damagedAt: new Date(3) } });
    await checkpoint.update({ where: { id: idOf(1) }, data: { verifiedAt: new Date(1) } });
    await apply();
    expect(await stepsIn(test, "trashed")).toEqual([100, 300]);
  });

  it("never takes the newest one before training began anew, and only that one of its line", async () => {
    await set({ ...LAST_TWO, last: 1 });
    await test.hub.db.epoch.create({
      data: { run, epoch: 2, nodeId: node.nodeId, claimedAt: new Date(test.hub.now()) },
    });
    await makeSafe(test.hub, node, { epoch: 2, step: 30 });
    await apply();
    expect(await stepsIn(test, "complete")).toEqual([30, 500]);
  });

  it("is applied by the clock of the hub", async () => {
    await set(LAST_TWO);
    const upkeep = startUpkeep(test.hub);
    await expect.poll(() => stepsIn(test, "trashed")).toEqual([100, 200, 300]);
    await upkeep.stop();
  });

  it("of a run comes before the default, and the default counts where a run has none", async () => {
    await set(LAST_TWO, null);
    await set(NO_RULES);
    await apply();
    expect(await stepsIn(test, "trashed")).toEqual([]);
    await set(null);
    expect(await ask().policy({ run })).toMatchObject({
      own: { policy: null, version: 2 },
      usual: { policy: LAST_TWO, updatedBy: "operator@example.com" },
      metrics: ["loss"],
    });
    await apply();
    expect(await stepsIn(test, "trashed")).toEqual([100, 200, 300]);
  });

  it("never takes where an epoch started, and never again what somebody brought back", async () => {
    await callAs(test.hub, other.caller).node.claimEpoch({ run });
    await makeSafe(test.hub, other, { epoch: 2, step: 550 });
    await set({ ...NO_RULES, last: 1 });
    expect(await ask().applyNow({ run })).toMatchObject({ trashed: 4, fault: null });
    expect(await stepsIn(test, "complete")).toEqual([500, 550]);
    await callAs(test.hub, "operator").checkpoints.bringBack({ id: idOf(1) });
    expect(await ask().applyNow({ run })).toMatchObject({ trashed: 0 });
    expect(await stepsIn(test, "complete")).toEqual([200, 500, 550]);
  });

  it("waits while a part of the record is in doubt, of the hub or of the run", async () => {
    await set(LAST_TWO);
    await test.hub.db.run.update({ where: { name: run }, data: { highestSeen: null } });
    await apply();
    await test.hub.db.run.update({ where: { name: run }, data: { highestSeen: 1 } });
    await test.hub.db.doubt.create({ data: { kind: "restored", at: new Date() } });
    await apply();
    await expect(ask().applyNow({ run })).rejects.toThrow(fault("DELETIONS_OFF"));
    expect(await stepsIn(test, "trashed")).toEqual([]);
  });

  it("moves the rest the next time when the bucket went away in the middle", async () => {
    await set(LAST_TWO);
    const { client } = await test.hub.stores.open((await test.hub.db.profile.findFirstOrThrow()).id);
    const send = client.send.bind(client);
    let puts = 0;
    client.send = ((command: { constructor: { name: string } }) =>
      command.constructor.name === "PutObjectCommand" && ++puts > 1
        ? Promise.reject(new Error("the link is down"))
        : send(command as never)) as never;
    expect(await ask().applyNow({ run })).toMatchObject({ trashed: 1, fault: { code: "INTERNAL" } });
    client.send = send as never;
    expect(await stepsIn(test, "trashed")).toEqual([100]);
    await apply();
    expect(await stepsIn(test, "trashed")).toEqual([100, 200, 300]);
  });

  it("is not overwritten by somebody who saw an older one", async () => {
    await set(LAST_TWO);
    await expect(ask().setPolicy({ run, policy: NO_RULES, version: 0 })).rejects.toThrow(fault("CONFLICT"));
    await expect(ask().setPolicy({ run: "nothing", policy: NO_RULES, version: 0 })).rejects.toThrow(fault("NOT_FOUND"));
    await expect(set({ ...NO_RULES, trashMs: 1 })).rejects.toThrow("a day or more");
    await expect(ask().applyNow({ run: "nothing" })).rejects.toThrow(fault("NOT_FOUND"));
    const actions = await test.hub.db.audit.findMany({ where: { action: { startsWith: "keeping" } } });
    expect(actions.map(({ action, subject }) => [action, subject])).toEqual([["keeping policy set", run]]);
  });
});
