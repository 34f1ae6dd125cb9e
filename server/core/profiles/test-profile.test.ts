import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import type { ProfileTestView } from "#protocol/wire/profile-views.ts";
import type { ProfileDraft } from "#protocol/wire/requests.ts";
import { CONTROL } from "#storage/testing/spawn-store.ts";
import {
  addTestNode,
  addTestProfile,
  callAs,
  facts,
  openTestHub,
  openTestStore,
  profileFor,
  type TestHub,
  type TestStore,
} from "#server/testing/open-test-hub.ts";

/** The test of a profile against the real store, which refuses, ignores and forgets what it is told to. */

const refuse = (store: TestStore, op: string | string[]) =>
  store.control("POST", "/rules", { op, action: { kind: "error", status: 403, code: "AccessDenied" } });

const outcomesOf = (view: ProfileTestView, outcome: string): string[] =>
  view.checks.filter((check) => check.outcome === outcome).map(({ operation }) => operation);

let test: TestHub;
beforeEach(async () => {
  test = await openTestHub();
});
afterEach(() => test.close());

async function tested(store: TestStore, changes: Partial<ProfileDraft> = {}): Promise<ProfileTestView> {
  const id = await addTestProfile(test.hub, store.endpoint, changes);
  return await callAs(test.hub, "admin").profiles.test({ id, profile: null, credential: null });
}

describe("a policy that refuses one operation", () => {
  let store: TestStore;
  beforeAll(async () => {
    store = await openTestStore(["--control", CONTROL]);
  });
  afterAll(() => store.close());
  afterEach(() => store.control("DELETE", "/rules"));

  it.each([
    ["ListObjectsV2", "s3:ListBucket", []],
    [
      "PutObject",
      "s3:PutObject",
      ["HeadObject", "GetObject", "GetObject if-match", "PutObject if-none-match", "DeleteObject"].concat(
        "CompleteMultipartUpload if-none-match",
      ),
    ],
    ["HeadObject", "s3:GetObject", []],
    ["GetObject", "s3:GetObject", ["GetObject if-match"]],
    [
      "CreateMultipartUpload",
      "s3:PutObject",
      ["UploadPart", "ListParts", "CompleteMultipartUpload", "AbortMultipartUpload"].concat(
        "CompleteMultipartUpload if-none-match",
      ),
    ],
    ["UploadPart", "s3:PutObject", ["ListParts", "CompleteMultipartUpload", "CompleteMultipartUpload if-none-match"]],
    ["ListParts", "s3:ListMultipartUploadParts", []],
    ["CompleteMultipartUpload", "s3:PutObject", ["CompleteMultipartUpload if-none-match"]],
    ["AbortMultipartUpload", "s3:AbortMultipartUpload", []],
    ["ListMultipartUploads", "s3:ListBucketMultipartUploads", []],
    ["DeleteObject", "s3:DeleteObject", []],
    ["GetBucketCors", "s3:GetBucketCORS", []],
  ])("%s is told that, %s, and nothing else of the rest", async (operation, action, skipped) => {
    await refuse(store, operation);
    const view = await tested(store);
    expect(outcomesOf(view, "refused")).toEqual([operation]);
    expect(outcomesOf(view, "failed")).toEqual([]);
    expect(outcomesOf(view, "unsupported")).toEqual([]);
    expect(outcomesOf(view, "skipped").toSorted()).toEqual(skipped.toSorted());
    const because = view.checks.filter(({ outcome }) => outcome === "skipped").map((line) => line.skippedBecause);
    expect(because).toEqual(because.map(() => operation));
    expect(view.checks.find((line) => line.operation === operation)).toMatchObject({
      missingAction: action,
      httpStatus: 403,
      // A HEAD has no document to name the code in.
      rawCode: operation === "HeadObject" ? null : "AccessDenied",
    });
  });

  it("of deleting and of giving up uploads is left with what is named, and with nothing else", async () => {
    await refuse(store, ["DeleteObject", "AbortMultipartUpload"]);
    const view = await tested(store);
    expect(view.leftBehind.map(({ kind, key }) => `${kind} ${key.split("/").at(-1)}`).toSorted()).toEqual([
      "object large.bin",
      "object once.bin",
      "object once.json",
      "object small object+~é.bin",
      "upload dropped.bin",
      // The second upload to a key that must be written once is refused at its end, and stays open.
      "upload once.bin",
    ]);
    expect(view.ok).toBe(false);
  });
});

describe("a store with ways of its own", () => {
  const found = { checksum: "crc32", conditionalWrites: true };

  it.each([
    ["aws", found],
    ["r2", found],
    ["b2", { checksum: "md5", conditionalWrites: true }],
    ["gcs", { checksum: "md5", conditionalWrites: false }],
    ["storj", { checksum: "md5", conditionalWrites: false }],
    ["wasabi", { checksum: "md5", conditionalWrites: false }],
    ["seaweedfs", found],
    ["scaleway", { checksum: "crc32", conditionalWrites: false }],
    ["strictest", { checksum: "md5", conditionalWrites: false }],
    ["reject-checksums=argument,reject-md5", { checksum: "none", conditionalWrites: true }],
  ])("as %s works although nobody knows it, and what it takes is found out", async (quirks, expected) => {
    const store = await openTestStore(["--quirks", quirks]);
    onTestFinished(store.close);
    const view = await tested(store, { provider: "other" });
    expect(outcomesOf(view, "failed").concat(outcomesOf(view, "refused"))).toEqual([]);
    expect(view.ok).toBe(true);
    expect(view.found).toMatchObject(expected);
    expect(view.leftBehind).toEqual([]);
  });

  it("is signed for by what was found, from then on and until it is another store", async () => {
    const store = await openTestStore(["--quirks", "b2"]);
    onTestFinished(store.close);
    const id = await addTestProfile(test.hub, store.endpoint, { provider: "other" });
    const node = await addTestNode(test.hub, id, "gpu");
    const traits = async () => {
      const answer = await callAs(test.hub, node.caller).node.hello({ bootId: "boot-0001", protocol: 1, facts });
      return answer.accepted ? answer.store?.traits : null;
    };
    expect(await traits()).toMatchObject({ checksum: "none", probeChecksum: true, conditionalWrites: false });
    await callAs(test.hub, "admin").profiles.test({ id, profile: null, credential: null });
    expect(await traits()).toMatchObject({ checksum: "md5", probeChecksum: false, conditionalWrites: true });
    const key = `team/tidemark-probe/${node.nodeId}/x`;
    const store1 = await test.hub.stores.open(id);
    const put = { op: "put", key, sizeBytes: 1, crc32: "00000000", md5: "0".repeat(32), nonce: "n" } as const;
    const [signed] = await store1.signForNode([put]);
    expect(Object.keys(signed?.headers ?? {})).toEqual(expect.arrayContaining(["content-md5", "if-none-match"]));
    const profile = profileFor("http://127.0.0.1:9", { provider: "other" });
    await callAs(test.hub, "admin").profiles.update({ id, version: 1, profile, credential: null });
    expect(await traits()).toMatchObject({ checksum: "none", probeChecksum: true, conditionalWrites: false });
  });

  it("whose clock is an hour off is told with the clock's own line", async () => {
    const store = await openTestStore(["--control", CONTROL]);
    onTestFinished(store.close);
    await store.control("PUT", "/clock", { offsetMs: -3_600_000 });
    const view = await tested(store);
    expect(view.ok).toBe(false);
    const clock = view.checks.find(({ operation }) => operation === "Clock");
    expect(clock).toMatchObject({ outcome: "failed", fault: { code: "CLOCK_SKEW" } });
    expect(clock?.fault?.detail).toBe("this machine's clock is 1 h ahead of the store's");
    expect(Math.round((view.clockSkewMs ?? 0) / 60_000)).toBe(-60);
  });
});
