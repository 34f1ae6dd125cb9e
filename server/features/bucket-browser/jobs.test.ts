import { beforeEach, describe, expect, it } from "vitest";
import type { BucketJobView, PlanBucketJob } from "#protocol/buckets/bucket-jobs.ts";
import { PLAN_LASTS_MS } from "#protocol/buckets/bucket-jobs.ts";
import { deleteObject, headObject, putObjectText } from "#storage/s3/objects.ts";
import { copyWithin } from "#storage/s3/copy-within.ts";
import { makeSafe, keyOf, run } from "#server/testing/stage-checkpoint.ts";
import { clearBucket, keysOf } from "#server/testing/test-bucket.ts";
import { hubForEach, store, test } from "#server/testing/hub-for-each.ts";
import { addTestNode, addTestProfile, callAs } from "#server/testing/open-test-hub.ts";
import { HOSTILE_KEYS, putAll } from "#server/testing/stage-bucket.ts";

let profileId = "";
const control = async (path: string, init: RequestInit = {}): Promise<Response> =>
  fetch(`${store.endpoint}/_control/${path}`, { ...init, headers: { authorization: "Bearer control" } });

hubForEach(["--control", "control"]);
beforeEach(async () => {
  profileId = await addTestProfile(test.hub, store.endpoint);
  await control("rules", { method: "DELETE" });
  await clearBucket(test.hub, profileId);
});

const as = (who: Parameters<typeof callAs>[1] = "admin") => callAs(test.hub, who).bucket;
const fault = (code: string) => expect.objectContaining({ cause: expect.objectContaining({ code }) });
const put = (objects: Record<string, string>) => putAll(test.hub, profileId, objects);
const keys = () => keysOf(test.hub, profileId, "");

async function until(id: string, states: readonly BucketJobView["state"][]): Promise<BucketJobView> {
  for (;;) {
    const job = await as().job({ id });
    if (states.includes(job.state)) return job;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
const OVER = ["done", "failed", "cancelled"] as const;

async function plan(asked: Omit<PlanBucketJob, "profileId">, who: "admin" | "operator" = "admin") {
  const { id } = await as(who).plan({ profileId, ...asked });
  return until(id, ["planned", "failed"]);
}
const confirm = async (id: string): Promise<BucketJobView> => {
  await as().start({ id });
  return until(id, OVER);
};

describe("a plan", () => {
  it("says what would be touched, what it takes and what it costs, and touches nothing", async () => {
    await put({ "a/1": "one", "a/b/2": "twotwo", "c/3": "three" });
    const job = await plan({ action: "delete", from: "", items: [{ prefix: "a/" }, { key: "c/3" }], target: null });
    expect(job).toMatchObject({
      state: "planned",
      plan: { objects: 3, bytes: 14, samePlace: 0, sample: ["a/1", "a/b/2", "c/3"], keepsVersions: false, cost: null },
    });
    expect(job.plan?.requests).toBeGreaterThanOrEqual(3);
    expect(await keys()).toEqual(["a/1", "a/b/2", "c/3"]);
  });

  it("counts an object once, however often it was chosen", async () => {
    await put({ "a/1": "one", "a/b/2": "two" });
    const items = [{ prefix: "a/" }, { prefix: "a/b/" }, { key: "a/1" }, { key: "a/1" }];
    expect((await plan({ action: "delete", from: "", items, target: null })).plan?.objects).toBe(2);
  });

  it("knows the price of requests where the provider has one", async () => {
    const aws = { name: "aws", provider: "aws", prefix: "x/" } as const;
    const other = await addTestProfile(test.hub, store.endpoint, aws);
    await put({ "a/1": "one" });
    const asked = { action: "copy", from: "", items: [{ prefix: "a/" }], target: "b/" } as const;
    const { id } = await as().plan({ profileId: other, ...asked, items: [...asked.items] });
    const { plan: found } = await until(id, ["planned"]);
    expect(found?.cost?.currency).toBe("USD");
    expect(found?.cost?.amount).toBeGreaterThan(0);
  });

  it("that nobody confirmed in time is over", async () => {
    await put({ "a/1": "one" });
    const job = await plan({ action: "delete", from: "", items: [{ prefix: "a/" }], target: null });
    test.advance(PLAN_LASTS_MS + 1);
    await expect(as().start({ id: job.id })).rejects.toEqual(fault("EXPIRED"));
    expect(await keys()).toEqual(["a/1"]);
  });

  it("to copy needs an operator, to move or delete an admin, and so does its confirmation", async () => {
    await put({ "a/1": "one" });
    const asked = { profileId, from: "", items: [{ prefix: "a/" }] };
    await expect(as("operator").plan({ ...asked, action: "delete", target: null })).rejects.toEqual(
      fault("ROLE_REQUIRED"),
    );
    await expect(as("operator").plan({ ...asked, action: "move", target: "b/" })).rejects.toEqual(
      fault("ROLE_REQUIRED"),
    );
    const job = await plan({ action: "delete", from: "", items: [{ prefix: "a/" }], target: null });
    await expect(as("operator").start({ id: job.id })).rejects.toEqual(fault("ROLE_REQUIRED"));
    const copy = await plan({ action: "copy", from: "", items: [{ prefix: "a/" }], target: "b/" }, "operator");
    expect(copy.state).toBe("planned");
  });

  it("of what does not go together is refused in a sentence", async () => {
    const asked = { profileId, from: "a/", items: [{ key: "b/1" }] };
    await expect(as().plan({ ...asked, action: "delete", target: null })).rejects.toThrow(
      /does not lie in that folder/,
    );
    const inside = { ...asked, items: [{ key: "a/1" }] };
    await expect(as().plan({ ...inside, action: "delete", target: "c/" })).rejects.toThrow(/a deletion has none/);
    await expect(as().plan({ ...inside, action: "copy", target: "a/" })).rejects.toThrow(/it is taken from/);
    await expect(as().plan({ ...inside, action: "copy", target: "no-slash" })).rejects.toThrow(/ends with '\/'/);
  });
});

describe("what belongs to Tidemark", () => {
  it("is left out of moves and deletions by name, and nothing is written there", async () => {
    const node = await addTestNode(test.hub, profileId, "gpu-1");
    const { epoch } = await callAs(test.hub, node.caller).node.claimEpoch({ run });
    const safe = await makeSafe(test.hub, node, { epoch, step: 500 });
    await put({ "team/free.txt": "free" });
    const before = await keys();
    const job = await plan({ action: "delete", from: "", items: [{ prefix: "" }], target: null });
    expect(job.plan).toMatchObject({ objects: 1, sample: ["team/free.txt"], kept: { objects: before.length - 1 } });
    expect(job.plan?.kept.groups).toContainEqual(
      expect.objectContaining({
        why: "checkpoint",
        checkpointId: safe.checkpointId,
        run: "llama",
        step: 500,
        objects: 2,
      }),
    );
    expect(await confirm(job.id)).toMatchObject({ state: "done", doneObjects: 1 });
    expect(await keys()).toEqual(before.filter((key) => key !== "team/free.txt"));
    const into = {
      action: "copy",
      from: "team/runs/",
      items: [{ prefix: "team/runs/" }],
      target: "team/manifests/",
    } as const;
    expect(await plan({ ...into, items: [...into.items] })).toMatchObject({
      state: "failed",
      fault: { code: "BELONGS_TO_TIDEMARK" },
    });
    const out = await plan({ action: "copy", from: "team/runs/", items: [{ prefix: "team/runs/" }], target: "mine/" });
    expect(await confirm(out.id)).toMatchObject({ state: "done", doneObjects: 1 });
    expect(await keys()).toContain(`mine/${keyOf(safe, "model.safetensors").slice("team/runs/".length)}`);
  });

  it("is protected wherever a manifest says it lies", async () => {
    const node = await addTestNode(test.hub, profileId, "gpu-1");
    const { epoch } = await callAs(test.hub, node.caller).node.claimEpoch({ run });
    const safe = await makeSafe(test.hub, node, { epoch, step: 500 });
    const row = await test.hub.db.checkpointContent.findUniqueOrThrow({ where: { checkpointId: safe.checkpointId } });
    const key = keyOf(safe, "model.safetensors");
    const moved = (row.manifest ?? "").replaceAll(key, "elsewhere/model.safetensors");
    await test.hub.db.checkpointContent.update({
      where: { checkpointId: safe.checkpointId },
      data: { manifest: moved },
    });
    await put({ "elsewhere/model.safetensors": "weights", "elsewhere/other.txt": "x" });
    const job = await plan({ action: "delete", from: "elsewhere/", items: [{ prefix: "elsewhere/" }], target: null });
    expect(job.plan).toMatchObject({ objects: 1, kept: { objects: 1, groups: [{ checkpointId: safe.checkpointId }] } });
  });

  it("and came to be so after the plan stays all the same", async () => {
    await put({ "late/runs/x": "x", "late/y": "y" });
    const job = await plan({ action: "delete", from: "late/", items: [{ prefix: "late/" }], target: null });
    await addTestProfile(test.hub, store.endpoint, { name: "late", prefix: "late/" });
    const ended = await confirm(job.id);
    expect(ended).toMatchObject({ doneObjects: 1, failedObjects: 1, faults: [{ key: "late/runs/x" }] });
    expect(ended.faults[0]?.fault.code).toBe("BELONGS_TO_TIDEMARK");
    expect(await keys()).toEqual(["late/runs/x"]);
  });
});

describe("a job", () => {
  it("copies, moves and deletes what its plan names, hostile names too, and the record says who did it", async () => {
    const usual = HOSTILE_KEYS.map((key) => key.slice("odd/".length)).sort();
    await put(Object.fromEntries(HOSTILE_KEYS.map((key) => [key, key])));
    const copy = await plan({ action: "copy", from: "odd/", items: [{ prefix: "odd/" }], target: "copied/" });
    expect(await confirm(copy.id)).toMatchObject({ state: "done", doneObjects: HOSTILE_KEYS.length, failedObjects: 0 });
    const move = await plan({ action: "move", from: "copied/", items: [{ prefix: "copied/" }], target: "moved/" });
    expect(await confirm(move.id)).toMatchObject({ state: "done", doneObjects: HOSTILE_KEYS.length, failedObjects: 0 });
    const listed = async (prefix: string): Promise<string[]> => {
      const page = await as().walk({ profileId, prefix, words: "/" });
      const all = await as().walk({ profileId, prefix, words: "." });
      return [...new Set([...page.objects, ...all.objects].map(({ key }) => key.slice(prefix.length)))].sort();
    };
    expect(await listed("odd/")).toEqual(usual);
    expect(await listed("copied/")).toEqual([]);
    expect(await listed("moved/")).toEqual(usual);
    const gone = await plan({ action: "delete", from: "", items: [{ prefix: "moved/" }], target: null });
    expect(await confirm(gone.id)).toMatchObject({ state: "done", doneObjects: HOSTILE_KEYS.length });
    expect(await listed("moved/")).toEqual([]);
    const audits = await test.hub.db.audit.findMany({ where: { subjectId: gone.id }, orderBy: { id: "asc" } });
    expect(audits.map(({ actor, action }) => [actor, action])).toEqual([
      ["admin@example.com", "delete objects"],
      ["hub, for admin@example.com", "delete objects: done"],
    ]);
    const events = await test.hub.db.event.findMany({ where: { kind: "bucket-job" }, orderBy: { id: "asc" } });
    expect(events.at(-1)?.text).toMatch(/^Deleted 9 objects \(.*\) in training$/);
  }, 120_000);

  it("touches only what it was confirmed for: what changed since stays and is named, what is new is left alone", async () => {
    await put({ "a/1": "one", "a/2": "two", "a/3": "three" });
    const job = await plan({ action: "delete", from: "", items: [{ prefix: "a/" }], target: null });
    await put({ "a/2": "changed", "a/4": "new" });
    const { client } = await test.hub.stores.open(profileId);
    await deleteObject(client, { bucket: "training", key: "a/3" });
    const ended = await confirm(job.id);
    expect(ended).toMatchObject({ state: "done", doneObjects: 2, failedObjects: 1, faults: [{ key: "a/2" }] });
    expect(ended.faults[0]?.fault.code).toBe("OBJECT_CHANGED");
    expect(await keys()).toEqual(["a/2", "a/4"]);
  });

  it("never writes over what has the name already, and a moved object is deleted only when its copy is there", async () => {
    await put({ "a/1": "one", "a/2": "two", "b/1": "somebody's" });
    const job = await plan({ action: "move", from: "a/", items: [{ prefix: "a/" }], target: "b/" });
    const ended = await confirm(job.id);
    expect(ended).toMatchObject({ doneObjects: 1, failedObjects: 1, faults: [{ key: "a/1" }] });
    expect(ended.faults[0]?.fault.code).toBe("ALREADY_EXISTS");
    expect(await keys()).toEqual(["a/1", "b/1", "b/2"]);
  });

  it("counts a move whose source is gone as done only when the target is its copy", async () => {
    await put({ "a/1": "one", "a/2": "two", "a/3": "three" });
    const job = await plan({ action: "move", from: "a/", items: [{ prefix: "a/" }], target: "b/" });
    const { client } = await test.hub.stores.open(profileId);
    for (const key of ["a/1", "a/2", "a/3"]) await deleteObject(client, { bucket: "training", key });
    // As if the hub had been killed after it moved the first object. Somebody else wrote the second one, of the same size.
    await put({ "b/1": "one", "b/2": "2wo" });
    const ended = await confirm(job.id);
    expect(ended).toMatchObject({ state: "done", doneObjects: 1, failedObjects: 2 });
    expect(ended.faults.map(({ key, fault: { code } }) => [key, code])).toEqual([
      ["a/2", "NO_SUCH_KEY"],
      ["a/3", "NO_SUCH_KEY"],
    ]);
  });

  it("does nothing while the hub's record is in doubt, not even when it was confirmed before", async () => {
    await put({ "a/1": "one" });
    const job = await plan({ action: "delete", from: "", items: [{ prefix: "a/" }], target: null });
    await test.hub.db.bucketJob.update({ where: { id: job.id }, data: { state: "waiting" } });
    await test.hub.db.doubt.create({ data: { kind: "restored", at: new Date() } });
    await expect(as().start({ id: job.id })).rejects.toEqual(fault("DELETIONS_OFF"));
    test.hub.bucketJobs.wake.notify();
    expect(await until(job.id, OVER)).toMatchObject({ state: "failed", fault: { code: "DELETIONS_OFF" } });
    expect(await keys()).toEqual(["a/1"]);
  });

  it("is confirmed once, and can be taken back before it was", async () => {
    await put({ "a/1": "one" });
    const job = await plan({ action: "delete", from: "", items: [{ prefix: "a/" }], target: null });
    expect((await as().cancel({ id: job.id })).state).toBe("cancelled");
    await expect(as().start({ id: job.id })).rejects.toEqual(fault("CONFLICT"));
    await expect(as().cancel({ id: job.id })).rejects.toEqual(fault("CONFLICT"));
    expect(await keys()).toEqual(["a/1"]);
    expect(await test.hub.db.bucketJobChunk.count()).toBe(0);
  });

  it("goes on after the hub was started anew, and does nothing twice", async () => {
    await put(Object.fromEntries(Array.from({ length: 12 }, (_, at) => [`a/${10 + at}`, `text ${at}`])));
    // One copy hangs until it is cut off.
    const action = { kind: "stall", side: "response" };
    const stall = { id: "stall", op: "CopyObject", keyPattern: "b/16", action };
    const rule = await control("rules", { method: "POST", body: JSON.stringify(stall) });
    if (!rule.ok) throw new Error(await rule.text());
    const job = await plan({ action: "copy", from: "a/", items: [{ prefix: "a/" }], target: "b/" });
    await as().start({ id: job.id });
    for (;;) {
      if ((await as().job({ id: job.id })).doneObjects >= 6) break;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    await test.restart();
    await control("rules", { method: "DELETE" });
    const ended = await until(job.id, OVER);
    expect(ended).toMatchObject({ state: "done", doneObjects: 12, failedObjects: 0 });
    expect((await keysOf(test.hub, profileId, "b/")).length).toBe(12);
  }, 120_000);

  it("waits for a store that is away, says so, and goes on", async () => {
    await put({ "a/1": "one", "a/2": "two" });
    const job = await plan({ action: "delete", from: "", items: [{ prefix: "a/" }], target: null });
    const away = { id: "away", op: "DeleteObjects", action: { kind: "error", status: 503, code: "SlowDown" } };
    const rule = await control("rules", { method: "POST", body: JSON.stringify(away) });
    if (!rule.ok) throw new Error(await rule.text());
    await as().start({ id: job.id });
    for (;;) {
      const now = await as().job({ id: job.id });
      if (now.fault?.code === "THROTTLED") break;
      expect(now.state).not.toBe("failed");
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    await control("rules", { method: "DELETE" });
    test.hub.bucketJobs.wake.notify();
    expect(await until(job.id, OVER)).toMatchObject({ state: "done", doneObjects: 2, fault: null });
    expect(await keys()).toEqual([]);
  }, 120_000);

  it("is stopped while it runs, and says what was done by then", async () => {
    await put(Object.fromEntries(Array.from({ length: 12 }, (_, at) => [`a/${10 + at}`, `text ${at}`])));
    const action = { kind: "stall", side: "response" };
    const stall = { id: "stall", op: "CopyObject", keyPattern: "b/1*", action };
    const rule = await control("rules", { method: "POST", body: JSON.stringify(stall) });
    if (!rule.ok) throw new Error(await rule.text());
    const job = await plan({ action: "copy", from: "a/", items: [{ prefix: "a/" }], target: "b/" });
    await as().start({ id: job.id });
    await until(job.id, ["running"]);
    await as().cancel({ id: job.id });
    await control("rules", { method: "DELETE" });
    const ended = await until(job.id, OVER);
    expect(ended.state).toBe("cancelled");
    expect(await test.hub.db.bucketJobChunk.count()).toBe(0);
  }, 120_000);
});

describe("a copy of what is too large for one request", () => {
  it("is made in ranges, keeps what its owner wrote on it, and is known again", async () => {
    const { client, access } = await test.hub.stores.open(profileId);
    const text = "0123456789".repeat(1_200_000);
    await putObjectText(client, { bucket: "training", key: "big/1", text, contentType: "text/x-own" });
    const { etag, sizeBytes } = await headObject(client, { bucket: "training", key: "big/1" });
    const copy = {
      bucket: "training",
      source: "big/1",
      target: "big/2",
      sizeBytes,
      etag,
      nonce: "job-1",
      traits: access.traits,
      signal: new AbortController().signal,
      largestWholeBytes: 6 * 1024 * 1024,
    };
    await copyWithin(client, copy);
    const made = await headObject(client, { bucket: "training", key: "big/2" });
    expect(made).toMatchObject({ sizeBytes, nonce: "job-1" });
    expect(made.etag).toMatch(/-2"$/);
    await copyWithin(client, copy);
    await expect(copyWithin(client, { ...copy, nonce: "job-2" })).rejects.toMatchObject({ code: "ALREADY_EXISTS" });
    await expect(copyWithin(client, { ...copy, target: "big/3", etag: '"another"' })).rejects.toMatchObject({
      code: "OBJECT_CHANGED",
    });
  });
});
