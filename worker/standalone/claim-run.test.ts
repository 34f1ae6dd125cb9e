import { expect, test } from "vitest";
import type { LineBranch } from "#protocol/checkpoint/line-branch.ts";
import { filePath, nodeName } from "#protocol/base/names.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { LEASE_MS } from "#protocol/checkpoint/writer-lease.ts";
import { chooseWanted, newestOf, restorePointOf } from "./choose-checkpoint.ts";
import { claimRun, createRunClaims } from "./claim-run.ts";
import { detectConditions } from "./detect-conditions.ts";
import { createRunRecords, lineOf } from "./run-record.ts";
import { createBucket, PREFIX, RUN, storeCheckpoint, storeRecord } from "../testing/memory-bucket.ts";

function startNode(bucket: ReturnType<typeof createBucket>, name: string, isConditional = true) {
  const { calls } = bucket;
  const node = { id: `node-of-${name}`, name: nodeName.parse(name) };
  const claims = createRunClaims({ calls, prefix: PREFIX, node, isConditional, hubMark: { seen: null } });
  const records = createRunRecords(calls, PREFIX);
  const choose = async (damaged: ReadonlySet<string> = new Set()) => ({
    records,
    record: await records.read(RUN),
    damaged,
  });
  const claim = async (choice: { from?: number | "beginning"; isLine?: true; branch?: LineBranch } = {}) =>
    claimRun(claims, {
      run: RUN,
      from: choice.from,
      isLine: choice.isLine,
      branch: choice.branch,
      read: () => choose(),
    });
  return { claims, claim, choose };
}

test("the node of the latest epoch goes on with it, another opens the next one from the newest checkpoint", async () => {
  const bucket = createBucket();
  const one = startNode(bucket, "one");
  expect(await one.claim()).toMatchObject({ epoch: 1, parent: null, newest: null });
  storeCheckpoint(bucket, { epoch: 1, step: 10 });
  expect(await one.claim()).toMatchObject({ epoch: 1, parent: null, newest: { step: 10, writerEpoch: 1 } });
  await one.claims.giveBack();
  const two = startNode(bucket, "two");
  expect(await two.claim()).toMatchObject({ epoch: 2, parent: { epoch: 1, step: 10 }, newest: { step: 10 } });
});

test("a run is taken over when its writer's lease has ended, and the writer is shut out", async () => {
  const bucket = createBucket();
  const [one, two] = [startNode(bucket, "one"), startNode(bucket, "two")];
  await one.claim();
  await expect(two.claim()).rejects.toMatchObject({ code: "RUN_IN_USE" });
  bucket.clock.now += LEASE_MS - 1;
  await one.claims.renewAll();
  bucket.clock.now += LEASE_MS - 1;
  await expect(two.claim()).rejects.toMatchObject({ code: "RUN_IN_USE" });
  bucket.clock.now += 1;
  expect(await two.claim()).toMatchObject({ epoch: 2 });
  await expect(one.claims.confirm(RUN, 1, 0)).rejects.toMatchObject({ code: "EPOCH_OVER" });
  expect(() => one.claims.requireWriter(RUN, 1)).toThrow(expect.objectContaining({ code: "EPOCH_OVER" }));
  await two.claims.confirm(RUN, 2, 0);
});

test("two nodes that begin at the same moment do not both write", async () => {
  const bucket = createBucket();
  const [one, two] = [startNode(bucket, "one"), startNode(bucket, "two")];
  const outcomes = await Promise.allSettled([one.claim(), two.claim()]);
  expect(outcomes.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
});

test("without conditional writes the loser of the same moment waits for the winner, and goes on after it", async () => {
  const bucket = createBucket({ isConditional: false });
  const [one, two] = [startNode(bucket, "one", false), startNode(bucket, "two", false)];
  const outcomes = await Promise.allSettled([one.claim(), two.claim()]);
  const lost = outcomes.find(({ status }) => status === "rejected");
  expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  expect(lost).toMatchObject({
    reason: { code: "RUN_IN_USE", context: { detail: expect.stringMatching(/writes it/) as unknown } },
  });
  const [winner, loser] = outcomes[0]?.status === "fulfilled" ? [one, two] : [two, one];
  await winner.claims.giveBack();
  expect(await loser.claim()).toMatchObject({ parent: null });
});

test("what a person goes back behind is not the newest any more, and the same choice again goes on", async () => {
  const bucket = createBucket();
  const one = startNode(bucket, "one");
  await one.claim();
  for (const step of [10, 20, 30]) storeCheckpoint(bucket, { epoch: 1, step });
  expect(await one.claim({ from: 20 })).toMatchObject({
    epoch: 2,
    parent: { epoch: 1, step: 20 },
    newest: { step: 20 },
    isChosen: true,
    from: { isNew: true },
  });
  expect(await one.claim({ from: 20 })).toMatchObject({ epoch: 2, newest: { step: 20 }, from: { isNew: false } });
  expect(lineOf(await one.choose().then(({ record }) => record)).map(({ step }) => step)).toEqual([20, 10]);
  expect(await one.claim({ from: "beginning" })).toMatchObject({ epoch: 3, parent: null, newest: null });
  await expect(one.claim({ from: 40 })).rejects.toMatchObject({ code: "NOT_FOUND" });
});

test("a doubtful checkpoint and a final model are nothing to go on from, and are told", async () => {
  const bucket = createBucket();
  const one = startNode(bucket, "one");
  storeCheckpoint(bucket, { epoch: 1, step: 10 });
  storeCheckpoint(bucket, { epoch: 1, step: 20, doubt: "its optimizer is missing" });
  storeCheckpoint(bucket, { epoch: 1, step: 30, role: "final-model" });
  // The claim of epoch 1 is gone: its number is not used again.
  expect(await one.claim()).toMatchObject({
    epoch: 2,
    newest: { step: 10 },
    doubtful: { step: 20, why: "its optimizer is missing" },
  });
  const choosing = await one.choose();
  expect((await chooseWanted(choosing, { role: "final-model" }))?.listed.step).toBe(30);
  expect((await chooseWanted(choosing, { step: 20 }))?.listed.step).toBe(20);
  // A doubtful final model is not taken where there is a whole one.
  storeCheckpoint(bucket, { epoch: 1, step: 40, role: "final-model", doubt: "a shard is missing" });
  expect((await chooseWanted(await one.choose(), { role: "final-model" }))?.listed.step).toBe(30);
});

test("without a hub the final model is the newest of the most trusted kind, as with one", async () => {
  const bucket = createBucket();
  const one = startNode(bucket, "one");
  const damaged = new Set<string>();
  const found = async () =>
    (await chooseWanted(await one.choose(damaged), { role: "final-model" }))?.listed.step ?? null;
  const store = (step: number, more: { doubt?: string } = {}) =>
    storeCheckpoint(bucket, { epoch: 1, step, role: "final-model", ...more });
  expect(await found()).toBeNull();
  damaged.add(store(400, { doubt: "z" }));
  expect(await found()).toBe(400);
  damaged.add(store(300));
  expect(await found()).toBe(300);
  store(100, { doubt: "a shard is missing" });
  expect(await found()).toBe(100);
  store(200, { doubt: "the index is missing" });
  expect(await found()).toBe(200);
  store(50);
  expect(await found()).toBe(50);
});

test("what may be incomplete is told with what a run can be continued from: a later step, and the last final model", async () => {
  const bucket = createBucket();
  const one = startNode(bucket, "one");
  const point = async () => restorePointOf(await one.choose(), RUN);
  storeCheckpoint(bucket, { epoch: 1, step: 10 });
  expect(await point()).toEqual({ run: RUN, newest: { step: 10, isDamaged: false }, trashedStep: null });
  storeCheckpoint(bucket, { epoch: 1, step: 5, doubt: "an earlier one is no matter" });
  storeCheckpoint(bucket, { epoch: 1, step: 20, doubt: "its optimizer is missing" });
  storeCheckpoint(bucket, { epoch: 1, step: 30, role: "final-model", doubt: "a shard is missing" });
  const step = { step: 20, why: "its optimizer is missing" };
  expect(await point()).toMatchObject({
    newest: { step: 10 },
    doubtful: [step, { step: 30, why: "a shard is missing", role: "final-model" }],
  });
  storeCheckpoint(bucket, { epoch: 1, step: 31, role: "final-model" });
  expect(await point()).toMatchObject({ newest: { step: 10 }, doubtful: [step] });
});

test("one that was found damaged, or that a hub moved to its trash, is passed over", async () => {
  const bucket = createBucket();
  const one = startNode(bucket, "one");
  const ids = [10, 20, 30].map((step) => storeCheckpoint(bucket, { epoch: 1, step }));
  const [, middle = "", newest = ""] = ids;
  const trash = storeRecord(bucket, { checkpointId: newest, word: { kind: "trash", until: 5, why: "by a person" } });
  expect((await newestOf(await one.choose()))?.listed.step).toBe(20);
  expect((await newestOf(await one.choose(new Set([middle]))))?.listed.step).toBe(10);
  expect((await chooseWanted(await one.choose(), { before: 20 }))?.listed.step).toBe(10);
  storeRecord(bucket, { checkpointId: newest, word: { kind: "end" }, ends: [trash] });
  expect((await newestOf(await one.choose()))?.listed.step).toBe(30);
});

test("what a program called its checkpoint finds it", async () => {
  const bucket = createBucket();
  const one = startNode(bucket, "one");
  storeCheckpoint(bucket, {
    epoch: 1,
    step: 5,
    place: { path: filePath.parse("logs/epoch=1.ckpt"), kind: "file" },
  });
  storeCheckpoint(bucket, { epoch: 1, step: 6 });
  const choosing = await one.choose();
  expect((await chooseWanted(choosing, { name: "epoch=1.ckpt" }))?.listed.step).toBe(5);
  expect((await chooseWanted(choosing, { name: "checkpoint-6" }))?.listed.step).toBe(6);
  expect(await chooseWanted(choosing, { name: "checkpoint-5" })).toBe(null);
});

test("whether a store keeps to conditions is found out, and nothing is left", async () => {
  for (const isConditional of [true, false]) {
    const bucket = createBucket({ isConditional });
    expect(await detectConditions(bucket.calls, PREFIX)).toBe(isConditional);
    expect(bucket.objects.size).toBe(0);
  }
});

test("a renewal whose answer was lost is the writer's own", async () => {
  const bucket = createBucket();
  const { read, write } = bucket.calls;
  let isLost = true;
  // As `createBucketCalls` does it: the second try meets what the first has written.
  bucket.calls.write = async (key, text, condition) => {
    if (isLost && key.includes("/writers/")) await write(key, text, condition);
    const etag = await write(key, text, condition);
    if (etag !== null) return etag;
    const there = await read(key);
    return there?.text === text ? there.etag : null;
  };
  const one = startNode(bucket, "one");
  expect(await one.claim()).toMatchObject({ epoch: 1 });
  await one.claims.renewAll();
  await one.claims.confirm(RUN, 1, 0);
  isLost = false;
  await one.claims.giveBack();
  expect(await startNode(bucket, "two").claim()).toMatchObject({ epoch: 2 });
});

test("a renewal that was given up and that the store carries out later is the writer's own", async () => {
  const bucket = createBucket();
  const one = startNode(bucket, "one");
  await one.claim();
  const { write } = bucket.calls;
  const late: (() => Promise<unknown>)[] = [];
  bucket.calls.write = (...args) => {
    late.push(() => write(...args));
    return Promise.reject(new Fault("LINK_DOWN"));
  };
  await expect(one.claims.confirm(RUN, 1, 0)).rejects.toMatchObject({ code: "LINK_DOWN" });
  bucket.calls.write = write;
  for (const carryOut of late) await carryOut();
  await one.claims.confirm(RUN, 1, 0);
  // What another writer wrote stays another writer's.
  bucket.clock.now += LEASE_MS + 1;
  await startNode(bucket, "two").claim();
  await expect(one.claims.confirm(RUN, 1, 0)).rejects.toMatchObject({ code: "EPOCH_OVER" });
});

test("a claim that cannot be read keeps its number and nobody from the run", async () => {
  const bucket = createBucket();
  storeCheckpoint(bucket, { epoch: 1, step: 10 });
  bucket.objects.set(`${PREFIX}epochs/${RUN}/e000007.json`, { text: "not a claim", etag: '"c"', modifiedAtMs: 1 });
  expect(await startNode(bucket, "one").claim()).toMatchObject({ epoch: 8, newest: { step: 10 } });
});

test("a node that cannot go on with a run leaves it to the others", async () => {
  const bucket = createBucket();
  const [one, two] = [startNode(bucket, "one"), startNode(bucket, "two")];
  storeCheckpoint(bucket, { epoch: 1, step: 10 });
  await expect(one.claim({ from: 99 })).rejects.toMatchObject({ code: "NOT_FOUND" });
  expect(await two.claim()).toMatchObject({ epoch: 2, newest: { step: 10 } });
  // A writer that asks for a step that is not there goes on writing.
  await expect(two.claim({ from: 99 })).rejects.toMatchObject({ code: "NOT_FOUND" });
  await expect(one.claim()).rejects.toMatchObject({ code: "RUN_IN_USE" });
});

test("what was committed while another node waited is gone on from", async () => {
  const bucket = createBucket();
  const [one, two] = [startNode(bucket, "one"), startNode(bucket, "two")];
  await one.claim();
  storeCheckpoint(bucket, { epoch: 1, step: 10 });
  const { write } = bucket.calls;
  // The moment before the second node has the lease.
  bucket.calls.write = async (key, text, condition) => {
    if (key.includes("/writers/") && text.includes('"two"')) storeCheckpoint(bucket, { epoch: 1, step: 20 });
    return write(key, text, condition);
  };
  await one.claims.giveBack();
  expect(await two.claim()).toMatchObject({ epoch: 2, parent: { epoch: 1, step: 20 } });
});

test("a new line says where it branches off, to its node and to whoever reads the bucket", async () => {
  const bucket = createBucket();
  const one = startNode(bucket, "one");
  await one.claim();
  storeCheckpoint(bucket, { epoch: 1, step: 200 });
  const branch: LineBranch = { from: { epoch: 1, step: 200 }, after: { epoch: 1, step: 200 }, step: 50 };
  expect(await one.claim({ isLine: true, branch })).toMatchObject({ epoch: 2, parent: null, branch });
  expect(await one.claim()).toMatchObject({ epoch: 2, branch });
  // No answer came to the first question.
  expect(await one.claim({ isLine: true, branch })).toMatchObject({ epoch: 2, branch });
  const stale = { ...branch, step: 60 };
  await expect(one.claim({ isLine: true, branch: stale })).rejects.toMatchObject({ code: "EPOCH_OVER" });
  const { claims } = await createRunRecords(bucket.calls, PREFIX).read(RUN);
  expect(claims.map((claim) => claim.branch)).toEqual([undefined, branch]);
});

test("what a node captured before its program began anew is still its own to send, until another node writes the run", async () => {
  const bucket = createBucket();
  const one = startNode(bucket, "one");
  await one.claim();
  const branch = (epoch: number) => ({ from: null, after: { epoch, step: 200 }, step: 50 });
  await one.claim({ isLine: true, branch: branch(1) });
  await one.claim({ isLine: true, branch: branch(2) });
  for (const epoch of [1, 2, 3]) one.claims.requireWriter(RUN, epoch);
  expect(one.claims.earlierLine(RUN, 1)).toEqual({ parent: null, next: branch(1) });
  expect(one.claims.earlierLine(RUN, 2)).toEqual({ parent: null, branch: branch(1), next: branch(2) });
  expect([one.claims.earlierLine(RUN, 3), one.claims.firstSendable(RUN, 3)]).toEqual([null, 1]);
  // A start that a person chose ends what was before it.
  await one.claim({ from: "beginning" });
  expect(() => one.claims.requireWriter(RUN, 3)).toThrow(expect.objectContaining({ code: "EPOCH_OVER" }));
  await one.claim({ isLine: true, branch: branch(4) });
  expect(one.claims.firstSendable(RUN, 5)).toBe(4);
  await one.claims.giveBack();
  const two = startNode(bucket, "two");
  await two.claim();
  await two.claims.giveBack();
  const again = startNode(bucket, "one");
  await again.claim();
  expect(() => again.claims.requireWriter(RUN, 5)).toThrow(expect.objectContaining({ code: "EPOCH_OVER" }));
});
