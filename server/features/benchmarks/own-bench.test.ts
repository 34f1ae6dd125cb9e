import { beforeEach, expect, it } from "vitest";
import { USUAL_SETTINGS } from "#protocol/benchmarks/plan-input.ts";
import { benchFolder } from "#protocol/checkpoint/keys.ts";
import { runName } from "#protocol/base/names.ts";
import { listObjects } from "#storage/s3/listing.ts";
import { putObjectText } from "#storage/s3/objects.ts";
import { hubForEach, store, test } from "#server/testing/hub-for-each.ts";
import { addTestNode, addTestProfile, callAs, type TestNode } from "#server/testing/open-test-hub.ts";
import { newId } from "#server/platform/random-id.ts";
import { cleanTurns } from "./clean-turns.ts";
import { runBenchmarks } from "./run-benchmarks.ts";

/** Benchmarks of one turn that a node asks for itself. */

let east: string;
let west: string;
let node: TestNode;
let other: TestNode;
hubForEach();
beforeEach(async () => {
  east = await addTestProfile(test.hub, store.endpoint, { name: "east" });
  west = await addTestProfile(test.hub, store.endpoint, { name: "west", prefix: "west/" });
  node = await addTestNode(test.hub, east, "gpu-1");
  other = await addTestNode(test.hub, east, "gpu-2");
});

const KEY = { accessKeyId: "AKIABENCH", secretAccessKey: "bench-secret-key" };
const as = (who: TestNode) => callAs(test.hub, who.caller).node;
const pages = () => callAs(test.hub, "operator").benchmarks;
const settings = (...engines: (typeof USUAL_SETTINGS)["engines"]) => ({ ...USUAL_SETTINGS, engines });
const request = (changes: object = {}) => ({
  id: newId(),
  profileId: east,
  settings: settings("tidemark", "sdk"),
  seed: 7,
  ...changes,
});
const lend = (profileId: string, grant: string | null = null) =>
  callAs(test.hub, "admin").benchmarks.setKey({ profileId, key: { kind: "given", ...KEY }, grant });
const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => "it was done",
    (error: { cause?: { code?: string } }) => error.cause?.code,
  );
const claim = (who: TestNode, run: string) => as(who).claimEpoch({ run: runName.parse(run) });

it("finds the node's own bucket by name or id, and says what is lent there", async () => {
  const found = { profileId: east, profileName: "east", bucket: "training" };
  expect(await as(node).benchTarget({ profile: "east" })).toEqual({ ...found, lends: "nothing" });
  await lend(east);
  expect(await as(node).benchTarget({ profile: east })).toEqual({ ...found, lends: "key" });
  await lend(east, "1grant");
  expect(await as(node).benchTarget({ profile: "east" })).toEqual({ ...found, lends: "key-and-grant" });
});

it("refuses a bucket that the node does not write to as it refuses one that does not exist, and names those it may use", async () => {
  for (const profile of ["west", west, "nowhere"]) {
    const asked = as(node).benchTarget({ profile });
    await expect(asked).rejects.toThrow(
      `${profile}: This node does not write to such a bucket profile (it writes to east). Name its own, or a home of a run that it writes.`,
    );
  }
  expect(await codeOf(as(node).benchStart(request({ profileId: west })))).toBe("PROFILE_NOT_THIS_NODES");
  expect(await pages().list()).toEqual([]);
});

it("lets a node measure to the homes of a run while it is the run's writer, and not longer", async () => {
  await claim(node, "llama");
  await callAs(test.hub, "operator").homes.set({ run: "llama", profileIds: [east, west], copies: null });
  expect(await as(node).benchTarget({ profile: "west" })).toMatchObject({ profileId: west });
  expect(await codeOf(as(other).benchTarget({ profile: "west" }))).toBe("PROFILE_NOT_THIS_NODES");
  await callAs(test.hub, "operator").runs.handOver({ run: runName.parse("llama"), nodeId: other.nodeId });
  await claim(other, "llama");
  expect(await codeOf(as(node).benchTarget({ profile: "west" }))).toBe("PROFILE_NOT_THIS_NODES");
  expect(await as(other).benchTarget({ profile: "west" })).toMatchObject({ profileId: west });
});

it("is one turn that runs at once, shown as every other benchmark, and the same request again is the same turn", async () => {
  const asked = request();
  const { turnId } = await as(node).benchStart(asked);
  expect(await as(node).benchStart(asked)).toEqual({ turnId });
  expect(await codeOf(as(other).benchStart(asked))).toBe("NOT_THIS_NODES");
  const job = await as(node).benchTurn({ turnId });
  expect(job.cases.map(({ engine }) => engine)).toEqual(["tidemark", "tidemark"]);
  expect(job.folder).toBe(benchFolder("team/", turnId));
  expect(await pages().get({ id: asked.id })).toMatchObject({
    name: "gpu-1 to east",
    actor: "gpu-1 (command line)",
    state: "running",
    turns: { running: 1 },
    turnList: [{ id: turnId, nodeName: "gpu-1", profileName: "east" }],
  });
  const rows = await test.hub.db.audit.findMany({ where: { action: "start benchmark" } });
  expect(rows).toMatchObject([{ actorKind: "node", actor: "gpu-1", subjectId: asked.id }]);
});

it("lends the key only to engines that need one, and keeps on record to whom", async () => {
  await lend(east, "1grant");
  const lent = () => test.hub.db.audit.findMany({ where: { action: "lend benchmark key" } });
  const plain = await as(node).benchStart(request({ settings: settings("tidemark", "aria2") }));
  expect(await as(node).benchTurn(plain)).toMatchObject({ credential: null, grant: null });
  expect(await lent()).toEqual([]);
  const keyed = await as(other).benchStart(request());
  expect(await as(other).benchTurn(keyed)).toMatchObject({ credential: KEY, grant: "1grant" });
  expect(await lent()).toMatchObject([{ actor: "gpu-2", subject: "east", times: 1 }]);
  expect(await codeOf(as(node).benchTurn(keyed))).toBe("NOT_THIS_NODES");
});

it("begins nothing that could measure nothing", async () => {
  const asked = as(node).benchStart(request({ settings: settings("sdk") }));
  await expect(asked).rejects.toThrow("none of these buckets has a benchmark key");
  expect(await pages().list()).toEqual([]);
});

it("is refused while the node has another turn, and the clock gives it none meanwhile", async () => {
  const { turnId } = await as(node).benchStart(request());
  expect(await codeOf(as(node).benchStart(request()))).toBe("BENCH_RUNNING");
  const live = test.hub.live.nodes.get(node.nodeId);
  if (live !== undefined) live.quietSince = test.hub.now();
  const id = newId();
  const targets = { scope: { nodes: "gpu-1" }, sample: null, profileIds: [east] };
  await pages().start({ id, name: "fleet", targets, settings: settings("tidemark"), perBucket: 9, seed: 1 });
  await runBenchmarks(test.hub);
  expect(await pages().get({ id })).toMatchObject({ turns: { waiting: 1, running: 0 } });
  await as(node).benchEnd({ turnId, outcome: "done", fault: null });
  await runBenchmarks(test.hub);
  expect(await pages().get({ id })).toMatchObject({ turns: { waiting: 0, running: 1 } });
  expect(await codeOf(as(node).benchStart(request()))).toBe("BENCH_RUNNING");
  const given = await test.hub.db.benchTurn.findFirstOrThrow({ where: { benchmarkId: id } });
  expect(await codeOf(as(node).benchEnd({ turnId: given.id, outcome: "done", fault: null }))).toBe("NOT_THIS_NODES");
});

it.each([
  ["done", "done", null],
  ["failed", "done", { code: "NO_SPACE" as const }],
  ["cancelled", "cancelled", null],
] as const)("that the node ends as %s signs nothing more, and the bucket is emptied", async (outcome, state, fault) => {
  const asked = request();
  const { turnId } = await as(node).benchStart(asked);
  const { client, access } = await test.hub.stores.open(east);
  const key = `${benchFolder("team/", turnId)}reference`;
  await putObjectText(client, { bucket: access.bucket, key, text: "left behind" });
  const sign = () => as(node).benchSign({ turnId, operations: [{ op: "head", key }] });
  expect((await sign()).requests).toHaveLength(1);
  expect(await codeOf(as(other).benchEnd({ turnId, outcome, fault }))).toBe("NOT_THIS_NODES");
  await as(node).benchEnd({ turnId, outcome, fault });
  expect(await codeOf(sign())).toBe("CANCELLED");
  expect(await codeOf(as(node).benchEnd({ turnId, outcome: "done", fault: null }))).toBe("CANCELLED");
  await runBenchmarks(test.hub);
  await cleanTurns(test.hub);
  const keys: string[] = [];
  for await (const object of listObjects(client, { bucket: access.bucket, prefix: benchFolder("team/", turnId) })) {
    keys.push(object.key);
  }
  expect(keys).toEqual([]);
  expect(await pages().get({ id: asked.id })).toMatchObject({
    state,
    turnList: [{ state: outcome, fault, isClean: true }],
  });
});

it("whose node is killed has failed after a while, and is cancelled by a person at once", async () => {
  const asked = request();
  await as(node).benchStart(asked);
  test.advance(3_600_000);
  await runBenchmarks(test.hub);
  expect(await pages().get({ id: asked.id })).toMatchObject({ turnList: [{ fault: { code: "INTERRUPTED" } }] });
  const again = request();
  const { turnId } = await as(node).benchStart(again);
  await pages().cancel({ id: again.id });
  expect(await codeOf(as(node).benchTurn({ turnId }))).toBe("CANCELLED");
});

it("may be begun a hundred times a day", async () => {
  const startedAt = new Date(test.hub.now());
  const { turnId } = await as(node).benchStart(request());
  await as(node).benchEnd({ turnId, outcome: "done", fault: null });
  const { id: _, ...row } = await test.hub.db.benchTurn.findUniqueOrThrow({ where: { id: turnId } });
  for (let at = 1; at < 100; at++) {
    const id = newId();
    const { benchmarkId } = row;
    const benchmark = await test.hub.db.benchmark.findUniqueOrThrow({ where: { id: benchmarkId } });
    await test.hub.db.benchmark.create({ data: { ...benchmark, id } });
    await test.hub.db.benchTurn.create({ data: { ...row, id, benchmarkId: id, startedAt } });
  }
  expect(await codeOf(as(node).benchStart(request()))).toBe("TOO_MANY_TRIES");
  expect(await codeOf(as(other).benchStart(request()))).toBe("it was done");
});
