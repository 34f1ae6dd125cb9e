import { PutBucketVersioningCommand } from "@aws-sdk/client-s3";
import { beforeEach, describe, expect, it } from "vitest";
import type { BucketJobView } from "#protocol/buckets/bucket-jobs.ts";
import type { ObjectVersion } from "#protocol/buckets/bucket.ts";
import { deleteObject, getObjectText } from "#storage/s3/objects.ts";
import { copyWithin } from "#storage/s3/copy-within.ts";
import { findVersions } from "#storage/s3/versions.ts";
import { keyOf, makeSafe, run } from "#server/testing/stage-checkpoint.ts";
import { hubForEach, store, test } from "#server/testing/hub-for-each.ts";
import { addTestNode, addTestProfile, callAs } from "#server/testing/open-test-hub.ts";
import { putAll } from "#server/testing/stage-bucket.ts";

/** Older versions brought back, in a bucket that keeps them. */

let profileId = "";
let folder = "";
let count = 0;
hubForEach();
beforeEach(async () => {
  profileId = await addTestProfile(test.hub, store.endpoint);
  folder = `f${count++}/`;
  const { client } = await test.hub.stores.open(profileId);
  const VersioningConfiguration = { Status: "Enabled" } as const;
  await client.send(new PutBucketVersioningCommand({ Bucket: "training", VersioningConfiguration }));
});

type Who = "viewer" | "operator" | "admin";
const as = (who: Who = "operator") => callAs(test.hub, who).bucket;
const fault = (code: string) => expect.objectContaining({ cause: expect.objectContaining({ code }) });
const put = (name: string, text: string) => putAll(test.hub, profileId, { [folder + name]: text });
const remove = async (name: string) =>
  deleteObject((await test.hub.stores.open(profileId)).client, { bucket: "training", key: folder + name });
const read = async (name: string): Promise<string> => {
  const { client } = await test.hub.stores.open(profileId);
  return (await getObjectText(client, { bucket: "training", key: folder + name, maxBytes: 1000 })).text;
};
const versionsOf = async (name: string): Promise<ObjectVersion[]> =>
  (await as("viewer").versions({ profileId, prefix: folder + name })).versions;
const idOf = async (name: string, which: (version: ObjectVersion) => boolean): Promise<string> =>
  (await versionsOf(name)).find(which)?.versionId ?? "none";

async function until(id: string, states: readonly BucketJobView["state"][]): Promise<BucketJobView> {
  for (;;) {
    const job = await as().job({ id });
    if (states.includes(job.state)) return job;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
async function plan(items: { name: string; versionId: string }[], who: Who = "operator") {
  const chosen = items.map(({ name, versionId }) => ({ key: folder + name, versionId }));
  const { id } = await as(who).plan({ profileId, action: "revive", from: folder, items: chosen, target: null });
  return until(id, ["planned", "failed"]);
}
const confirm = async ({ id }: BucketJobView): Promise<BucketJobView> => {
  await as().start({ id });
  return until(id, ["done", "failed", "cancelled"]);
};

describe("bringing back", () => {
  it("puts an older version on top, and what was the newest stays below it", async () => {
    await put("a", "the first");
    await put("a", "second");
    const versionId = await idOf("a", ({ isLatest }) => !isLatest);
    const job = await plan([{ name: "a", versionId }]);
    expect(job).toMatchObject({
      state: "planned",
      plan: { objects: 1, bytes: 9, samePlace: 0, revived: { copies: 1, undeleted: 0, covered: 1 } },
    });
    expect(await read("a")).toBe("second");
    expect(await confirm(job)).toMatchObject({ state: "done", doneObjects: 1, failedObjects: 0 });
    expect(await read("a")).toBe("the first");
    expect((await versionsOf("a")).map(({ sizeBytes, isLatest }) => [sizeBytes, isLatest])).toEqual([
      [9, true],
      [6, false],
      [9, false],
    ]);
  });

  it("takes a deletion back by its mark, and puts an older version on top of one", async () => {
    await put("a", "alive");
    await put("b", "old");
    await put("b", "newer");
    await remove("a");
    await remove("b");
    const job = await plan([
      { name: "a", versionId: await idOf("a", ({ isDeleteMarker }) => isDeleteMarker) },
      { name: "b", versionId: await idOf("b", ({ sizeBytes }) => sizeBytes === 3) },
    ]);
    expect(job.plan).toMatchObject({ objects: 2, revived: { copies: 1, undeleted: 1, covered: 0 } });
    expect(await confirm(job)).toMatchObject({ state: "done", doneObjects: 2, failedObjects: 0 });
    expect([await read("a"), await read("b")]).toEqual(["alive", "old"]);
    expect((await versionsOf("a")).filter(({ isDeleteMarker }) => isDeleteMarker)).toEqual([]);
    expect((await versionsOf("b")).filter(({ isDeleteMarker }) => isDeleteMarker)).toHaveLength(1);
  });

  it("is on record with who asked for it", async () => {
    await put("a", "1");
    await remove("a");
    const job = await plan([{ name: "a", versionId: await idOf("a", ({ isDeleteMarker }) => isDeleteMarker) }]);
    await confirm(job);
    const audits = await test.hub.db.audit.findMany({ where: { subjectId: job.id }, orderBy: { id: "asc" } });
    expect(audits.map(({ actor, action }) => [actor, action])).toEqual([
      ["operator@example.com", "bring back objects"],
      ["hub, for operator@example.com", "bring back objects: done"],
    ]);
    const [event] = await test.hub.db.event.findMany({ where: { kind: "bucket-job" }, orderBy: { id: "desc" } });
    expect(event?.text).toMatch(/^Brought back 1 objects? /);
  });

  it("does nothing where a version is what its key has, and where a mark hides nothing", async () => {
    await put("a", "1");
    await remove("a");
    const mark = await idOf("a", ({ isDeleteMarker }) => isDeleteMarker);
    await put("a", "2");
    await put("b", "3");
    const newest = await idOf("b", ({ isLatest }) => isLatest);
    const job = await plan([
      { name: "a", versionId: mark },
      { name: "b", versionId: newest },
    ]);
    expect(job.plan).toMatchObject({ objects: 0, samePlace: 2 });
  });

  it("leaves a key alone that got something else since the plan, and says so", async () => {
    await put("a", "old");
    await put("a", "newer");
    await put("gone", "x");
    await remove("gone");
    const job = await plan([
      { name: "a", versionId: await idOf("a", ({ isLatest }) => !isLatest) },
      { name: "gone", versionId: await idOf("gone", ({ isDeleteMarker }) => isDeleteMarker) },
    ]);
    await put("a", "somebody's");
    await put("gone", "somebody's too");
    const ended = await confirm(job);
    expect(ended).toMatchObject({ state: "done", doneObjects: 0, failedObjects: 2 });
    expect(new Set(ended.faults.map((one) => one.fault.code))).toEqual(new Set(["OBJECT_CHANGED"]));
    expect([await read("a"), await read("gone")]).toEqual(["somebody's", "somebody's too"]);
  });

  it("may be carried out twice, as after a kill of the hub, and makes no second copy", async () => {
    await put("a", "the first");
    await put("a", "second");
    const job = await plan([{ name: "a", versionId: await idOf("a", ({ isLatest }) => !isLatest) }]);
    const [chunk] = await test.hub.db.bucketJobChunk.findMany({ where: { jobId: job.id } });
    await confirm(job);
    await test.hub.db.bucketJob.update({ where: { id: job.id }, data: { state: "running", endedAt: null } });
    await test.hub.db.bucketJobChunk.create({ data: { jobId: job.id, seq: 0, objects: chunk?.objects ?? "[]" } });
    test.hub.bucketJobs.wake.notify();
    expect(await until(job.id, ["done", "failed"])).toMatchObject({ state: "done", failedObjects: 0 });
    expect(await versionsOf("a")).toHaveLength(3);
  });

  it("of what belongs to a checkpoint is refused, as every change of it is", async () => {
    const node = await addTestNode(test.hub, profileId, `gpu-${count}`);
    const { epoch } = await callAs(test.hub, node.caller).node.claimEpoch({ run });
    const safe = await makeSafe(test.hub, node, { epoch, step: 500 });
    const key = keyOf(safe, "model.safetensors");
    await putAll(test.hub, profileId, { [key]: "written over by somebody" });
    const { client } = await test.hub.stores.open(profileId);
    const { versions } = await as("viewer").versions({ profileId, prefix: key });
    const old = versions.find(({ isLatest }) => !isLatest)?.versionId ?? "";
    const asked = { profileId, action: "revive", from: "", items: [{ key, versionId: old }], target: null } as const;
    const { id } = await as("admin").plan({ ...asked, items: [...asked.items] });
    expect(await until(id, ["planned"])).toMatchObject({
      plan: { objects: 0, kept: { objects: 1, groups: [{ checkpointId: safe.checkpointId }] } },
    });
    const found = await findVersions(client, {
      bucket: "training",
      key,
      versionId: old,
      signal: new AbortController().signal,
    });
    expect(found.newest?.versionId).not.toBe(old);
  });

  it("takes an operator, versions alone, and one of each key", async () => {
    await put("a", "1");
    const versionId = await idOf("a", ({ isLatest }) => isLatest);
    await expect(plan([{ name: "a", versionId }], "viewer")).rejects.toEqual(fault("ROLE_REQUIRED"));
    const twice = plan([
      { name: "a", versionId },
      { name: "a", versionId: "other" },
    ]);
    await expect(twice).rejects.toThrow(/of each key one version/);
    const asked = { profileId, from: folder, target: null };
    const plain = as("admin").plan({ ...asked, action: "revive", items: [{ key: `${folder}a` }] });
    await expect(plain).rejects.toThrow(/a version of a key/);
    const odd = as("admin").plan({ ...asked, action: "delete", items: [{ key: `${folder}a`, versionId }] });
    await expect(odd).rejects.toThrow(/a version of a key/);
    expect(await plan([{ name: "a", versionId: "nothing" }])).toMatchObject({
      state: "failed",
      fault: { code: "NO_SUCH_KEY" },
    });
  });

  it("of a large object is made in ranges, of the version that was asked for", async () => {
    const { client, access } = await test.hub.stores.open(profileId);
    const key = `${folder}big`;
    await put("big", "0123456789".repeat(1_200_000));
    await put("big", "small");
    const [old] = (await versionsOf("big")).filter(({ isLatest }) => !isLatest);
    const { signal } = new AbortController();
    const copy = { bucket: "training", source: key, target: key, nonce: "job-1", traits: access.traits, signal };
    const about = { sizeBytes: old?.sizeBytes ?? 0, etag: old?.etag ?? "", version: old?.versionId ?? "" };
    await copyWithin(client, { ...copy, ...about, largestWholeBytes: 6 * 1024 * 1024 });
    expect((await versionsOf("big")).map(({ sizeBytes }) => sizeBytes)).toEqual([12_000_000, 5, 12_000_000]);
  });
});
