import { beforeEach, describe, expect, it } from "vitest";
import { Fault } from "#protocol/faults/fault.ts";
import { nodeName } from "#protocol/base/names.ts";
import type { KeepRecord } from "#protocol/retention/keeping.ts";
import { createBucket, PREFIX, RUN, storeCheckpoint, storeClaim, storeRecord } from "../testing/memory-bucket.ts";
import { chooseWanted, newestOf } from "./choose-checkpoint.ts";
import { announceRestore } from "./delete-checkpoint.ts";
import { keepRun, type KeepParts } from "./keep-run.ts";
import { readKeep } from "./read-keep.ts";
import { createRestoreLeases, RESTORE_LEASE_MS } from "./restore-leases.ts";
import { createRunRecords } from "./run-record.ts";

const DAY_MS = 86_400_000;

let bucket: ReturnType<typeof createBucket>;
beforeEach(() => {
  bucket = createBucket();
});

function partsOf(rules: string, changes: Partial<KeepParts> = {}): KeepParts {
  const { calls } = bucket;
  return {
    calls,
    records: createRunRecords(calls, PREFIX),
    prefix: PREFIX,
    restores: createRestoreLeases({ calls, prefix: PREFIX }, { id: "node-0001", name: nodeName.parse("one") }),
    policy: readKeep(rules),
    node: "one",
    damaged: new Set(),
    facts: new Map(),
    assertWriter: () => Promise.resolve(),
    ...changes,
  };
}
const store = (...steps: number[]): string[] => steps.map((step) => storeCheckpoint(bucket, { epoch: 1, step }));
const read = () => createRunRecords(bucket.calls, PREFIX).read(RUN);
const stepsLeft = async () => (await read()).checkpoints.map(({ step }) => step);
const keysOf = (part: string): string[] => [...bucket.objects.keys()].filter((key) => key.includes(part));

const say = (checkpointId: string, word: KeepRecord["word"], ends: string[] = []) =>
  storeRecord(bucket, { checkpointId, word, ends });

describe("keepRun", () => {
  it("moves to the trash what no rule keeps, and deletes it with all its objects a day later", async () => {
    store(100, 200, 300, 400);
    const parts = partsOf("last=2");
    expect(await keepRun(parts, RUN)).toMatchObject({ trashed: [200, 100], deleted: [] });
    expect(await stepsLeft()).toEqual([400, 300]);
    bucket.clock.now += DAY_MS - 1;
    expect(await keepRun(parts, RUN)).toMatchObject({ trashed: [], deleted: [] });
    expect(keysOf("manifests/")).toHaveLength(4);
    bucket.clock.now += 1;
    expect(await keepRun(parts, RUN)).toMatchObject({ trashed: [], deleted: [200, 100] });
    expect(keysOf("manifests/")).toHaveLength(2);
    expect(keysOf("/weights")).toHaveLength(2);
    expect(keysOf("deletions/")).toEqual([]);
    expect(await keepRun(parts, RUN)).toMatchObject({ trashed: [], deleted: [] });
  });

  it("finds a step in the trash by its number until it is deleted, and never goes on from it by itself", async () => {
    store(100, 200);
    const parts = partsOf("last=1");
    await keepRun(parts, RUN);
    const choosing = async () => {
      const records = createRunRecords(bucket.calls, PREFIX);
      return { records, record: await records.read(RUN), damaged: new Set(["checkpoint-1-200"]) };
    };
    expect((await chooseWanted(await choosing(), { step: 100 }))?.listed.step).toBe(100);
    expect((await newestOf(await choosing()))?.listed.step).toBe(200);
    bucket.clock.now += DAY_MS;
    await keepRun(parts, RUN);
    expect(await chooseWanted(await choosing(), { step: 100 })).toBeNull();
  });

  it("keeps what a hub pinned, tagged or brought back, where an epoch started, final models, and what cannot be read", async () => {
    const [pinned = "", tagged = "", back = "", unread = ""] = store(10, 20, 30, 40);
    store(50, 60);
    storeCheckpoint(bucket, { epoch: 1, step: 55, role: "final-model" });
    say(pinned, { kind: "pin" });
    say(tagged, { kind: "tag", tag: "best" });
    say(back, { kind: "end" }, [say(back, { kind: "trash", until: 5, why: "by the policy" })]);
    bucket.objects.set(`${PREFIX}keeping/${RUN}/${unread}/record-x-pin.json`, {
      text: "{",
      etag: '"u"',
      modifiedAtMs: 1,
    });
    bucket.objects.set(`${PREFIX}epochs/${RUN}/e000002.json`, {
      text: JSON.stringify({
        format: "tidemark.epoch",
        version: 1,
        run: RUN,
        epoch: 2,
        parent: { epoch: 1, step: 50 },
        node: { id: "node-0002", name: "two" },
        claimedAt: 1,
      }),
      etag: '"c"',
      modifiedAtMs: 1,
    });
    expect(await keepRun(partsOf("last=1"), RUN)).toMatchObject({ trashed: [] });
    store(70);
    expect(await keepRun(partsOf("last=1"), RUN)).toMatchObject({ trashed: [60] });
    expect(await stepsLeft()).toEqual([70, 55, 50, 40, 30, 20, 10]);
  });

  it("keeps the best by a metric, and a whole one when the newest is damaged", async () => {
    for (const [step, loss] of [
      [1, 0.5],
      [2, 0.1],
      [3, 0.9],
      [4, 0.8],
    ] as const)
      storeCheckpoint(bucket, { epoch: 1, step, metrics: { loss } });
    const parts = partsOf("last=1,best=loss:min", { damaged: new Set(["checkpoint-1-4"]) });
    expect(await keepRun(parts, RUN)).toMatchObject({ trashed: [1] });
    expect(await stepsLeft()).toEqual([4, 3, 2]);
  });

  it("moves nothing while no checkpoint has the metric of a rule, and says so", async () => {
    store(1, 2, 3);
    expect(await keepRun(partsOf("last=1,best=evalloss:min"), RUN)).toMatchObject({
      trashed: [],
      isMetricUnknown: true,
    });
    storeCheckpoint(bucket, { epoch: 1, step: 4, metrics: { evalloss: 1 } });
    expect(await keepRun(partsOf("last=1,best=evalloss:min"), RUN)).toMatchObject({
      trashed: [3, 2, 1],
      isMetricUnknown: false,
    });
  });

  it("deletes nothing that was brought back, or that an epoch started from, since the pass began", async () => {
    const [first = ""] = store(1, 2, 3);
    await keepRun(partsOf("last=1"), RUN);
    bucket.clock.now += DAY_MS;
    const [trash = ""] = keysOf(`keeping/${RUN}/${first}/`).map((key) => /([^/]+)-trash\.json$/.exec(key)?.[1] ?? "");
    let checks = 0;
    const assertWriter = () => {
      // The first check is that of the pass, the second that of the first deletion.
      if (++checks === 2) say(first, { kind: "end" }, [trash]);
      return Promise.resolve();
    };
    expect(await keepRun(partsOf("last=1", { assertWriter }), RUN)).toMatchObject({ deleted: [2] });
    expect(await stepsLeft()).toEqual([3, 1]);
  });

  it("removes nothing of a restored line that its program passed over, until the new line passes its step or a person chose", async () => {
    store(100, 200, 300);
    const parts = partsOf("last=1");
    const branch = { from: { epoch: 1, step: 300 }, after: { epoch: 1, step: 300 }, step: 50 };
    storeClaim(bucket, { epoch: 2, branch });
    for (const step of [50, 100]) storeCheckpoint(bucket, { epoch: 2, step });
    expect(await keepRun(parts, RUN)).toMatchObject({ trashed: [50] });
    expect(await stepsLeft()).toEqual([100, 300, 200, 100]);
    storeCheckpoint(bucket, { epoch: 2, step: 300 });
    // The newest before training began anew stays in any case.
    expect(await keepRun(parts, RUN)).toMatchObject({ trashed: [100, 200, 100] });
    expect(await stepsLeft()).toEqual([300, 300]);
  });

  it("keeps what it moved to the trash of a restored line that its program passed over since", async () => {
    store(100, 200);
    const parts = partsOf("last=1");
    expect(await keepRun(parts, RUN)).toMatchObject({ trashed: [100] });
    bucket.clock.now += DAY_MS;
    const branch = { from: { epoch: 1, step: 200 }, after: { epoch: 1, step: 200 }, step: 50 };
    storeClaim(bucket, { epoch: 2, branch });
    expect(await keepRun(parts, RUN)).toMatchObject({ deleted: [] });
    storeClaim(bucket, { epoch: 3, isChosen: true, parent: { epoch: 1, step: 200 } });
    expect(await keepRun(parts, RUN)).toMatchObject({ deleted: [100] });
  });

  it("leaves alone what a hub moved to the trash", async () => {
    const [first = ""] = store(1, 2);
    say(first, { kind: "trash", until: 5, why: "by a person" });
    bucket.clock.now += 30 * DAY_MS;
    expect(await keepRun(partsOf("last=1"), RUN)).toMatchObject({ trashed: [], deleted: [] });
    expect(keysOf("/weights")).toHaveLength(2);
  });

  it("goes on with a deletion that was killed after any request", async () => {
    for (let most = 1; ; most++) {
      bucket = createBucket();
      store(1, 2);
      await keepRun(partsOf("last=1"), RUN);
      bucket.clock.now += DAY_MS;
      let calls = 0;
      const dying = { ...bucket.calls };
      const mayGo = () => {
        if (++calls > most) throw new Fault("CANCELLED");
      };
      dying.remove = async (key) => {
        mayGo();
        return bucket.calls.remove(key);
      };
      dying.write = async (...args) => {
        mayGo();
        return bucket.calls.write(...args);
      };
      const isKilled = await keepRun(partsOf("last=1", { calls: dying }), RUN).then(
        () => false,
        () => true,
      );
      // No manifest ever names objects that are gone.
      if (keysOf("/weights").length === 1) expect(keysOf("manifests/")).toHaveLength(1);
      await keepRun(partsOf("last=1"), RUN);
      expect(keysOf("/weights")).toHaveLength(1);
      expect(keysOf("manifests/")).toHaveLength(1);
      expect(keysOf("deletions/")).toEqual([]);
      if (!isKilled) return;
    }
  });

  it("writes and deletes nothing when another node writes the run", async () => {
    store(1, 2, 3);
    const before = [...bucket.objects.keys()];
    const assertWriter = () => Promise.reject(new Fault("EPOCH_OVER"));
    await expect(keepRun(partsOf("last=1", { assertWriter }), RUN)).rejects.toMatchObject({ code: "EPOCH_OVER" });
    expect([...bucket.objects.keys()]).toEqual(before);
  });

  it("neither moves nor deletes what a node restores, until the restore has ended or was not renewed", async () => {
    const [first = "", second = ""] = store(100, 200, 300, 400);
    const parts = partsOf("last=1");
    const leave = await parts.restores.announce({ run: RUN, checkpointId: first }, "late");
    expect(await keepRun(parts, RUN)).toMatchObject({ trashed: [300, 200] });
    await leave();
    expect(await keepRun(parts, RUN)).toMatchObject({ trashed: [100] });
    bucket.clock.now += DAY_MS;
    const other = await partsOf("last=1").restores.announce({ run: RUN, checkpointId: second }, "now");
    expect(await keepRun(parts, RUN)).toMatchObject({ deleted: [300, 100] });
    expect(keysOf("deletions/")).toEqual([]);
    expect(keysOf(second).some((key) => key.includes("manifests/"))).toBe(true);
    // Its node was lost: nobody renews it.
    bucket.clock.now += RESTORE_LEASE_MS + 1;
    expect(await keepRun(parts, RUN)).toMatchObject({ deleted: [200] });
    expect(keysOf("restores/")).toEqual([]);
    await other();
  });

  it("does not begin a restore of what is being deleted, and goes on with the deletion", async () => {
    const [first = ""] = store(100, 200);
    const parts = partsOf("last=1");
    await keepRun(parts, RUN);
    bucket.clock.now += DAY_MS;
    const killed = { ...parts, calls: { ...parts.calls, remove: () => Promise.reject(new Fault("CANCELLED")) } };
    await expect(keepRun(killed, RUN)).rejects.toMatchObject({ code: "CANCELLED" });
    const restoring = announceRestore(parts, { run: RUN, checkpointId: first });
    await expect(restoring).rejects.toMatchObject({ code: "NOT_FOUND" });
    expect(keysOf("restores/")).toEqual([]);
    expect(await keepRun(parts, RUN)).toMatchObject({ deleted: [100] });
  });
});
