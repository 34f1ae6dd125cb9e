import { describe, expect, it } from "vitest";
import type { NodeMessage } from "#protocol/wire/commands.ts";
import { makeRunBacklog } from "#protocol/testing/make-run-backlog.ts";
import { nodeName, runName } from "#protocol/base/names.ts";
import { profileForEach, profileId, test } from "#server/testing/profile-for-each.ts";
import {
  addTestNode,
  callAs,
  facts,
  NOBODY,
  profileFor,
  report,
  type TestNode,
} from "#server/testing/open-test-hub.ts";
import { kindsTold } from "#server/testing/test-words.ts";
import { markSilentNodes } from "#server/http/tick.ts";
import { writeDown } from "../live/write-down.ts";
import { newId } from "#server/platform/random-id.ts";
import { fault } from "#server/testing/match-fault.ts";

const run = runName.parse("llama");

profileForEach();

describe("asking for one", () => {
  it("takes an id or a name, and a name that reads like the id of another node hides nothing", async () => {
    const first = await addTestNode(test.hub, profileId, "gpu-1");
    const second = await addTestNode(test.hub, profileId, "gpu-2");
    const get = (id: string) => callAs(test.hub, "viewer").nodes.get({ id });
    expect((await get(first.name)).id).toBe(first.nodeId);
    const named = test.hub.live.nodes.get(second.nodeId);
    if (named !== undefined) named.name = nodeName.parse(first.nodeId);
    expect((await get(first.nodeId)).id).toBe(first.nodeId);
    await expect(get("no-such-node")).rejects.toEqual(fault("NOT_FOUND"));
    for (const hostile of ["../x", "a b", "<b>", "%00", "a".repeat(65)])
      await expect(get(hostile)).rejects.toMatchObject({ code: "BAD_REQUEST" });
  });
});

describe("enrolling", () => {
  const enrol = (token: string, name: string) =>
    callAs(test.hub, NOBODY).node.enrol({ token, name: nodeName.parse(name), protocol: 1, facts });
  const newToken = async (maxUses: number) =>
    callAs(test.hub, "operator").tokens.create({ label: "rack", profileId, maxUses, validMs: 60_000 });

  it("gives each node a credential and a name of its own", async () => {
    const { token } = await newToken(3);
    const answers = [await enrol(token, "gpu"), await enrol(token, "gpu"), await enrol(token, "gpu")];
    expect(answers.map(({ name }) => name)).toEqual(["gpu", "gpu-2", "gpu-3"]);
    expect(new Set(answers.map(({ credential }) => credential)).size).toBe(3);
    const long = "g".repeat(64);
    const second = await newToken(3);
    const cut = [await enrol(second.token, long), await enrol(second.token, long), await enrol(second.token, "Gpu")];
    expect(cut.map(({ name }) => name)).toEqual([long, `${"g".repeat(62)}-2`, "Gpu"]);
    const stored = JSON.stringify(await test.hub.db.node.findMany());
    for (const { credential } of answers) expect(stored).not.toContain(credential);
  });

  it("counts every use, also of two at the same moment", async () => {
    const { token } = await newToken(1);
    const tries = await Promise.allSettled([enrol(token, "a"), enrol(token, "b")]);
    expect(tries.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    await expect(enrol(token, "c")).rejects.toEqual(fault("TOKEN_EXPIRED"));
    expect((await callAs(test.hub, "operator").tokens.list())[0]).toMatchObject({ uses: 1, maxUses: 1 });
  });

  it("remembers which token each node came with, also after a restart of the hub", async () => {
    const [first, second] = [await newToken(2), await newToken(1)];
    await enrol(first.token, "a");
    await enrol(second.token, "b");
    const tokens = async () => (await callAs(test.hub, "viewer").nodes.list()).map(({ tokenId }) => tokenId);
    expect(await tokens()).toEqual([first.view.id, second.view.id]);
    await test.restart();
    expect(await tokens()).toEqual([first.view.id, second.view.id]);
  });

  it("refuses a token that is unknown, too old or revoked", async () => {
    await expect(enrol("tmj_unknown-unknown-unknown", "a")).rejects.toEqual(fault("TOKEN_WRONG"));
    const { token, view } = await newToken(5);
    await callAs(test.hub, "operator").tokens.revoke({ id: view.id });
    await expect(enrol(token, "a")).rejects.toEqual(fault("TOKEN_EXPIRED"));
    const late = await newToken(5);
    test.advance(60_001);
    await expect(enrol(late.token, "a")).rejects.toEqual(fault("TOKEN_EXPIRED"));
  });

  it("shows a token once and keeps only its hash", async () => {
    const { token, view, hubUrl } = await newToken(1);
    expect(view.hint).toBe(token.slice(0, 10));
    expect(hubUrl).toBe("http://hub.test");
    expect(JSON.stringify(await test.hub.db.joinToken.findMany())).not.toContain(token);
  });

  it("refuses a worker that speaks another protocol", async () => {
    const { token } = await newToken(1);
    const old = callAs(test.hub, NOBODY).node.enrol({ token, name: nodeName.parse("a"), protocol: 0, facts });
    await expect(old).rejects.toEqual(fault("PROTOCOL_MISMATCH"));
  });
});

describe("saying hello", () => {
  it("tells a node where its bytes go", async () => {
    const node = await addTestNode(test.hub, profileId, "gpu");
    const answer = await callAs(test.hub, node.caller).node.hello({ protocol: 1, bootId: newId(), facts });
    expect(answer).toMatchObject({
      accepted: true,
      name: "gpu",
      acceptedThrough: 0,
      store: { bucket: "training", prefix: "team/", endpoint: "http://127.0.0.1:9" },
      settings: { reportEveryMs: 10_000, returnWithinMs: 500 },
    });
  });

  it("tells it what its bucket's profile says of packs, by default and as it was set", async () => {
    const node = await addTestNode(test.hub, profileId, "gpu");
    const packingNow = async () => {
      const answer = await callAs(test.hub, node.caller).node.hello({ protocol: 1, bootId: newId(), facts });
      return answer.accepted ? answer.store?.packing : null;
    };
    expect(await packingNow()).toEqual({ belowBytes: 256 * 1024, zstd: false });
    const { profiles } = callAs(test.hub, "admin");
    const packing = { belowBytes: 4096, zstd: true };
    const set = { id: profileId, profile: profileFor("http://127.0.0.1:9"), credential: null };
    await profiles.update({ ...set, version: 1, about: { notes: "", prices: null, packing } });
    expect(await packingNow()).toEqual(packing);
    await profiles.update({ ...set, version: 2, about: { notes: "said again", prices: null } });
    expect(await packingNow()).toEqual(packing);
    const tooLarge = { notes: "", prices: null, packing: { belowBytes: 2 ** 23, zstd: false } };
    await expect(profiles.update({ ...set, version: 3, about: tooLarge })).rejects.toMatchObject({
      code: "BAD_REQUEST",
    });
  });

  it("says which side is too old", async () => {
    const node = await addTestNode(test.hub, profileId, "gpu");
    const hello = (protocol: number) => callAs(test.hub, node.caller).node.hello({ protocol, bootId: newId(), facts });
    expect(await hello(0)).toMatchObject({ accepted: false, reason: "worker-too-old" });
    expect(await hello(99)).toMatchObject({ accepted: false, reason: "worker-too-new" });
  });
});

describe("silence", () => {
  it("is noticed after thirty seconds, said once with what is at risk, and ends with the next word", async () => {
    const node = await addTestNode(test.hub, profileId, "gpu");
    const now = test.hub.now();
    const backlog = {
      run,
      writerEpoch: 1,
      unsafeCheckpoints: 1,
      unsafeFiles: 2,
      unsafeBytes: 3_000_000,
      movedBytes: 0,
      oldestUnsafeAt: now,
      safeStep: null,
      safeAt: null,
      safeBytes: 0,
      localStep: 100,
      localAt: now,
      startedAt: now - 840_000,
      intervalMs: 60_000,
    };
    await callAs(test.hub, node.caller).node.progress({ ...report(test.hub), runs: [backlog] });
    test.advance(29_000);
    await markSilentNodes(test.hub);
    expect(await kindsTold(test)).not.toContain("node-silent");
    test.advance(2_000);
    await markSilentNodes(test.hub);
    await markSilentNodes(test.hub);
    const rows = (
      await callAs(test.hub, "viewer").events.list({ nodeId: node.nodeId, run: null, cursor: null, limit: 9 })
    ).rows;
    expect(rows.filter(({ kind }) => kind === "node-silent")).toHaveLength(1);
    expect(rows[0]).toMatchObject({ work: "lost", text: expect.stringContaining("14 min of training at risk") });
    expect(await callAs(test.hub, "viewer").nodes.get({ id: node.nodeId })).toMatchObject({
      state: "silent",
      work: "lost",
    });
    await callAs(test.hub, node.caller).node.progress(report(test.hub));
    expect((await callAs(test.hub, "viewer").nodes.get({ id: node.nodeId })).state).toBe("online");
    expect((await kindsTold(test))[0]).toBe("node-back");
  });

  it("does not count while the hub itself was away", async () => {
    const node = await addTestNode(test.hub, profileId, "gpu");
    test.advance(3_600_000);
    await test.restart();
    await markSilentNodes(test.hub);
    const stateNow = async () => (await callAs(test.hub, "viewer").nodes.get({ id: node.nodeId })).state;
    expect(await stateNow()).toBe("unconfirmed");
    expect(await kindsTold(test)).not.toContain("node-silent");
    await callAs(test.hub, node.caller).node.progress(report(test.hub));
    expect(await stateNow()).toBe("online");
    expect(await kindsTold(test)).not.toContain("node-back");
  });

  it("counts a loss to the node's last word, also when the hub was away in between", async () => {
    const node = await addTestNode(test.hub, profileId, "gpu");
    const now = test.hub.now();
    // Everything captured is safe; what was trained since is not.
    const backlog = makeRunBacklog({
      run,
      safeStep: 100,
      safeAt: now - 180_000,
      safeBytes: 5,
      localStep: 100,
      localAt: now - 180_000,
      startedAt: now - 840_000,
      intervalMs: 3_600_000,
    });
    await callAs(test.hub, node.caller).node.progress({ ...report(test.hub), at: now, runs: [backlog] });
    await writeDown(test.hub, "everything");
    test.advance(600_000);
    await test.restart();
    test.advance(31_000);
    await markSilentNodes(test.hub);
    const lost = { state: "silent", work: "lost", risk: { lossMs: 180_000 }, runs: [{ work: "lost" }] };
    expect(await callAs(test.hub, "viewer").nodes.get({ id: node.nodeId })).toMatchObject(lost);
    expect(await test.hub.live.fleet(test.hub.now())).toMatchObject({ byWork: { lost: 1 }, risk: { lossMs: 180_000 } });
    const query = { nodeId: node.nodeId, run: null, cursor: null, limit: 1 };
    const [event] = (await callAs(test.hub, "viewer").events.list(query)).rows;
    expect(event).toMatchObject({ work: "lost", text: expect.stringContaining("3 min of training at risk") });
    await test.restart();
    expect(await callAs(test.hub, "viewer").nodes.get({ id: node.nodeId })).toMatchObject(lost);
  });

  it("is not what a clean stop leaves", async () => {
    const node = await addTestNode(test.hub, profileId, "gpu");
    await callAs(test.hub, node.caller).node.goodbye();
    test.advance(60_000);
    await markSilentNodes(test.hub);
    expect((await callAs(test.hub, "viewer").nodes.get({ id: node.nodeId })).state).toBe("offline");
    await test.restart();
    expect((await callAs(test.hub, "viewer").nodes.get({ id: node.nodeId })).state).toBe("offline");
  });
});

describe("the stream to a node", () => {
  async function open(node: TestNode) {
    const answer = await callAs(test.hub, node.caller).node.stream({ bootId: newId() });
    const stream = (answer as AsyncIterable<NodeMessage>)[Symbol.asyncIterator]();
    return {
      next: async () => (await stream.next()).value as NodeMessage | undefined,
      end: () => stream.return?.(undefined),
    };
  }

  it("begins with the settings, and tells at once when somebody starts to watch", async () => {
    const node = await addTestNode(test.hub, profileId, "gpu");
    const stream = await open(node);
    expect(await stream.next()).toEqual({ type: "settings", settings: { reportEveryMs: 10_000, returnWithinMs: 500 } });
    const leave = test.hub.live.enter(test.hub.now, "somebody");
    expect(await stream.next()).toEqual({ type: "settings", settings: { reportEveryMs: 1_000, returnWithinMs: 500 } });
    leave();
    test.advance(6_000);
    test.hub.live.adaptCadence(test.hub.now());
    expect(await stream.next()).toEqual({ type: "settings", settings: { reportEveryMs: 10_000, returnWithinMs: 500 } });
    await stream.end();
  });

  it("tells to say hello again when the profile changed", async () => {
    const node = await addTestNode(test.hub, profileId, "gpu");
    const stream = await open(node);
    await stream.next();
    const [view] = await callAs(test.hub, "admin").profiles.list();
    if (view === undefined) throw new Error("no profile");
    const update = {
      id: view.id,
      version: view.version,
      profile: { ...view.profile, name: "renamed" },
      credential: null,
    };
    await callAs(test.hub, "admin").profiles.update(update);
    expect(await stream.next()).toEqual({ type: "refresh" });
    await stream.end();
  });

  it("ends when the node is revoked, and its next call is refused", async () => {
    const node = await addTestNode(test.hub, profileId, "gpu");
    const stream = await open(node);
    await stream.next();
    // Expected before it can happen: the stream ends before the answer to who revokes.
    const ends = expect(stream.next()).rejects.toEqual(fault("NODE_REVOKED"));
    await callAs(test.hub, "admin").nodes.revoke({ id: node.nodeId });
    await ends;
    await expect(callAs(test.hub, node.caller).node.progress(report(test.hub))).rejects.toEqual(fault("NODE_REVOKED"));
  });

  it("ends with an error that means come back when the hub ends", async () => {
    const node = await addTestNode(test.hub, profileId, "gpu");
    const stream = await open(node);
    await stream.next();
    const next = stream.next();
    test.startClosing();
    await expect(next).rejects.toMatchObject({ code: "SERVICE_UNAVAILABLE" });
  });
});
