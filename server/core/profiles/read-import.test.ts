import { DEFAULT_PACKING } from "#protocol/checkpoint/packing.ts";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { readStored } from "#server/testing/test-database.ts";
import {
  addTestProfile,
  callAs,
  openTestHub,
  openTestStore,
  profileFor,
  type TestHub,
} from "#server/testing/open-test-hub.ts";
import { fault } from "#server/testing/match-fault.ts";

const textFor = (endpoint: string): string => `[lab]
type = s3
provider = Minio
endpoint = ${endpoint}
access_key_id = AKIATEST
secret_access_key = test-secret-key

[no-key]
type = s3
provider = AWS
region = eu-west-1
`;

let test: TestHub;
beforeEach(async () => {
  test = await openTestHub();
});
afterEach(() => test.close());
const admin = () => callAs(test.hub, "admin").profiles;

describe("a pasted text", () => {
  it("becomes a profile whose key was never sent back", async () => {
    const store = await openTestStore();
    onTestFinished(store.close);
    const view = await admin().readImport({ text: textFor(store.endpoint) });
    expect(JSON.stringify(view)).not.toMatch(/test-secret-key|AKIATEST/);
    expect(view.drafts.map(({ from, accessKeyHint }) => [from, accessKeyHint])).toEqual([
      ["lab", "TEST"],
      ["no-key", null],
    ]);
    const credential = { handle: view.handle ?? "", index: 0 };
    const profile = profileFor(store.endpoint, { name: "lab" });
    const tried = await admin().test({ id: null, profile, credential });
    expect(tried.ok).toBe(true);
    const made = await admin().create({ profile, credential });
    expect(made.accessKeyHint).toBe("TEST");
    expect((await admin().test({ id: made.id, profile: null, credential: null })).ok).toBe(true);
    expect(await test.hub.db.audit.count({ where: { action: "read keys from a text" } })).toBe(1);
    const stored = await readStored(test);
    expect(stored).toContain(made.id);
    expect(stored.includes("test-secret-key")).toBe(false);
    const again = admin().create({ profile: { ...profile, name: "again" }, credential });
    await expect(again).rejects.toEqual(fault("NOT_FOUND"));
  });

  it("is one person's, and for a quarter of an hour", async () => {
    const { handle } = await admin().readImport({ text: textFor("http://127.0.0.1:9") });
    const input = {
      profile: profileFor("http://127.0.0.1:9"),
      credential: { handle: handle ?? "", index: 0 },
    };
    const other = callAs(test.hub, {
      kind: "person",
      person: { id: "another-admin", email: "b@example.com", role: "admin" },
      sessionHash: "x",
    });
    await expect(other.profiles.create(input)).rejects.toEqual(fault("NOT_FOUND"));
    const without = { ...input, credential: { ...input.credential, index: 1 } };
    await expect(admin().create(without)).rejects.toEqual(fault("NOT_FOUND"));
    test.advance(15 * 60_000);
    await expect(admin().create(input)).rejects.toEqual(fault("NOT_FOUND"));
    expect(await test.hub.db.profile.count()).toBe(0);
  });

  it("without a key keeps nothing", async () => {
    const view = await admin().readImport({ text: "rclone copy a b:c --transfers 10" });
    expect(view).toMatchObject({ handle: null, kind: "rclone command", drafts: [] });
    expect(view.findings.length).toBeGreaterThan(0);
    expect(await test.hub.db.audit.count({ where: { action: "read keys from a text" } })).toBe(0);
  });
});

/** Nothing set by a person: parts and connections as they are found. */
const AS_FOUND = { partBytes: null, connections: null };

describe("what a profile carries", () => {
  it("is notes, prices and what is packed, kept until they are changed", async () => {
    const about = { notes: " ask Mara ", prices: { egressPerGb: 0.02, storagePerGbMonth: null, per1000Requests: 0 } };
    const credential = { accessKeyId: "AKIATEST", secretAccessKey: "test-secret-key" };
    const profile = profileFor("http://127.0.0.1:9");
    const { id, about: kept } = await admin().create({ profile, credential, about });
    expect(kept).toEqual({ ...about, notes: "ask Mara", packing: DEFAULT_PACKING, tuning: AS_FOUND });
    const same = await admin().update({ id, version: 1, profile, credential: null });
    expect(same.about).toEqual(kept);
    const none = { notes: "", prices: null, packing: { belowBytes: 0, zstd: true } };
    expect((await admin().update({ id, version: 2, profile, credential: null, about: none })).about).toEqual({
      ...none,
      tuning: AS_FOUND,
    });
    const plain = await addTestProfile(test.hub, "http://127.0.0.1:9", { name: "plain" });
    expect((await admin().list()).find((one) => one.id === plain)?.about).toEqual({
      notes: "",
      prices: null,
      packing: DEFAULT_PACKING,
      tuning: AS_FOUND,
    });
  });

  it("takes no price below nothing", async () => {
    const about = { notes: "", prices: { egressPerGb: -1, storagePerGbMonth: null, per1000Requests: null } };
    const credential = { accessKeyId: "AKIATEST", secretAccessKey: "test-secret-key" };
    const made = admin().create({ profile: profileFor("http://127.0.0.1:9"), credential, about });
    await expect(made).rejects.toThrow();
  });
});
