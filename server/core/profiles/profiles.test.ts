import { TEST_CREDENTIAL } from "#storage/testing/spawn-store.ts";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { readStored } from "#server/testing/test-database.ts";
import {
  addTestNode,
  addTestProfile,
  callAs,
  openTestHub,
  openTestStore,
  profileFor,
  type TestHub,
} from "#server/testing/open-test-hub.ts";
import { fault } from "#server/testing/match-fault.ts";

const planted = { accessKeyId: "AKIAPLANTEDKEY", secretAccessKey: "planted-canary-secret" };
const endpoint = "http://127.0.0.1:9";

let test: TestHub;
beforeEach(async () => {
  test = await openTestHub();
});
afterEach(() => test.close());

const admin = () => callAs(test.hub, "admin").profiles;

describe("a bucket profile", () => {
  it("never shows its key, nor leaves it readable on disk", async () => {
    const view = await admin().create({ profile: profileFor(endpoint), credential: planted });
    expect(view).toMatchObject({
      accessKeyHint: "DKEY",
      version: 1,
      nodes: 0,
      runs: 0,
      checkpoints: 0,
      storedBytes: 0,
    });
    expect(JSON.stringify([view, await admin().list()])).not.toMatch(/planted|AKIA/);
    const stored = await readStored(test);
    expect(stored).toContain(view.id);
    expect(stored.includes("planted-canary-secret")).toBe(false);
    expect(stored.includes("AKIAPLANTEDKEY")).toBe(false);
  });

  it("is changed only from the version that was seen", async () => {
    const { id } = await admin().create({ profile: profileFor(endpoint), credential: planted });
    const profile = profileFor(endpoint, { region: "eu-central-1" });
    const first = await admin().update({ id, version: 1, profile, credential: null });
    expect(first).toMatchObject({ version: 2, profile: { region: "eu-central-1" }, accessKeyHint: "DKEY" });
    await expect(admin().update({ id, version: 1, profile, credential: null })).rejects.toEqual(fault("CONFLICT"));
  });

  it("keeps its bucket and prefix once a run lies there", async () => {
    const id = await addTestProfile(test.hub, endpoint);
    await test.hub.db.run.create({ data: { name: "llama", profileId: id, createdAt: new Date() } });
    const moved = { id, version: 1, profile: profileFor(endpoint, { prefix: "b/" }), credential: null };
    await expect(admin().update(moved)).rejects.toEqual(fault("IN_USE"));
    await expect(admin().remove({ id })).rejects.toEqual(fault("IN_USE"));
  });

  it("cannot be removed while a node uses it, and can otherwise", async () => {
    const id = await addTestProfile(test.hub, endpoint);
    await addTestNode(test.hub, id, "gpu");
    await expect(admin().remove({ id })).rejects.toEqual(fault("IN_USE"));
    const free = await addTestProfile(test.hub, endpoint, { name: "free" });
    await admin().remove({ id: free });
    expect((await admin().list()).map((view) => view.id)).toEqual([id]);
    expect(await test.hub.db.profileSecret.count()).toBe(1);
  });

  it("has a name of its own", async () => {
    await addTestProfile(test.hub, endpoint);
    await expect(addTestProfile(test.hub, endpoint)).rejects.toEqual(fault("CONFLICT"));
  });

  it("cannot lie at a metadata address, nor its nodes' or browsers' endpoint", async () => {
    const metadata = "http://169.254.169.254";
    const refused = fault("ENDPOINT_REFUSED");
    for (const where of ["endpoint", "workerEndpoint", "browserEndpoint"]) {
      const profile = profileFor(endpoint, { [where]: metadata });
      await expect(admin().create({ profile, credential: planted }), where).rejects.toEqual(refused);
      await expect(admin().test({ id: null, profile, credential: planted }), where).rejects.toEqual(refused);
    }
  });

  it("is tested with its stored key or a typed one, which is stored nowhere", async () => {
    const store = await openTestStore();
    onTestFinished(store.close);
    const id = await addTestProfile(test.hub, store.endpoint);
    const good = await admin().test({ id, profile: null, credential: null });
    expect(good.ok).toBe(true);
    expect(good.checks.filter(({ outcome }) => outcome === "ok").length).toBeGreaterThan(5);
    expect((await admin().list())[0]?.lastTest).toEqual(good);
    const bad = await admin().test({ id: null, profile: profileFor(store.endpoint), credential: planted });
    expect(bad.ok).toBe(false);
    expect(JSON.stringify(bad)).not.toMatch(/planted|Signature=/);
    expect(await test.hub.db.profileSecret.count()).toBe(1);
  });

  it("is not untested when it is saved as it was tested, and is when anything of it differs", async () => {
    const store = await openTestStore();
    onTestFinished(store.close);
    const credential = TEST_CREDENTIAL;
    const profile = profileFor(store.endpoint, { name: "tested" });
    const passed = await admin().test({ id: null, profile, credential, keyBy: null });
    expect(passed.ok).toBe(true);
    expect((await admin().create({ profile, credential, keyBy: null })).lastTest).toEqual(passed);
    const other = { ...profile, name: "other", prefix: "other/" };
    expect((await admin().create({ profile: other, credential, keyBy: null })).lastTest).toBeNull();
    const mistyped = { ...credential, secretAccessKey: "another secret" };
    const wrong = { ...profile, name: "wrong" };
    expect((await admin().create({ profile: wrong, credential: mistyped, keyBy: null })).lastTest).toBeNull();
  });

  it("lends its stored key only to its own endpoint", async () => {
    const id = await addTestProfile(test.hub, endpoint);
    const elsewhere = { id, profile: profileFor("http://127.0.0.1:10"), credential: null };
    await expect(admin().test(elsewhere)).rejects.toEqual(fault("BAD_INPUT"));
    await expect(admin().test({ id: null, profile: profileFor(endpoint), credential: null })).rejects.toEqual(
      fault("BAD_INPUT"),
    );
  });
});
