import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { MOST_IMAGE_BYTES, MOST_ROWS, WALK_LIMITS } from "#protocol/buckets/bucket.ts";
import { CreateMultipartUploadCommand, PutObjectCommand, UploadPartCommand } from "@aws-sdk/client-s3";
import { crc32Hex, crc32ToBase64 } from "#storage/checksums/crc32.ts";
import { announce, makeSafe, run, keyOf } from "#server/testing/stage-checkpoint.ts";
import { addTestNode, addTestProfile, callAs, type TestHub, type TestStore } from "#server/testing/open-test-hub.ts";
import { HOSTILE_KEYS, openBucketStage, putAll } from "#server/testing/stage-bucket.ts";

const KEYS = 50_000;
let test: TestHub;
let store: TestStore;
let profileId = "";
beforeAll(async () => {
  ({ test, store, profileId } = await openBucketStage(["--fill", `bulk/:${KEYS}`]));
  await putAll(test.hub, profileId, {
    "a/one.txt": "one",
    "a/two.json": '{"lr": 0.1}',
    "a/deep/er/three.txt": "three",
    "top.txt": "top",
    ...Object.fromEntries(HOSTILE_KEYS.map((key) => [key, key])),
  });
}, 120_000);
afterAll(async () => {
  await test.close();
  await store.close();
});

const as = (who: Parameters<typeof callAs>[1] = "viewer") => callAs(test.hub, who).bucket;
const list = (prefix: string, more: { cursor?: string | null; startAfter?: string; limit?: number } = {}) =>
  as().list({ profileId, prefix, ...more });
const fault = (code: string) => expect.objectContaining({ cause: expect.objectContaining({ code }) });

describe("a folder", () => {
  it("is listed with its folders apart from its objects", async () => {
    expect(await list("")).toMatchObject({
      folders: ["a/", "bulk/", "odd/"],
      objects: [{ key: "top.txt", sizeBytes: 3 }],
      nextCursor: null,
    });
    expect(await list("a/")).toMatchObject({
      folders: ["a/deep/"],
      objects: [{ key: "a/one.txt" }, { key: "a/two.json" }],
    });
  });

  it("is entered in the middle by the beginning of a name, or after a key", async () => {
    const page = await list("bulk/004999");
    expect(page.objects.map(({ key }) => key)).toEqual(
      Array.from({ length: 10 }, (_, last) => `bulk/004999${last}.bin`),
    );
    const after = await list("bulk/", { startAfter: "bulk/0049997.bin" });
    expect(after.objects.map(({ key }) => key)).toEqual(["bulk/0049998.bin", "bulk/0049999.bin"]);
  });

  it("of any size comes page by page, each key once", async () => {
    let cursor: string | null = null;
    let seen = 0;
    let last = "";
    do {
      const page: Awaited<ReturnType<typeof list>> = await list("bulk/", { cursor });
      expect(page.objects.length).toBeLessThanOrEqual(MOST_ROWS);
      for (const { key } of page.objects) {
        expect(key > last).toBe(true);
        last = key;
      }
      seen += page.objects.length;
      cursor = page.nextCursor;
    } while (cursor !== null);
    expect(seen).toBe(KEYS);
  }, 120_000);

  it("goes on only where it was, by a cursor that says nothing", async () => {
    const { nextCursor } = await list("bulk/", { limit: 10 });
    expect(Buffer.from(nextCursor ?? "", "base64url").toString("latin1")).not.toContain("bulk");
    await expect(list("bulk/00", { cursor: nextCursor })).rejects.toEqual(fault("LISTING_OVER"));
    await expect(list("bulk/", { cursor: "bWFkZSB1cA" })).rejects.toEqual(fault("LISTING_OVER"));
    const other = await addTestProfile(test.hub, store.endpoint, { name: "other", prefix: "other/" });
    const elsewhere = as().list({ profileId: other, prefix: "bulk/", cursor: nextCursor });
    await expect(elsewhere).rejects.toEqual(fault("LISTING_OVER"));
  });

  it("of hostile names gives them back as they are", async () => {
    const { objects, folders } = await list("odd/");
    expect(folders).toEqual(["odd/../", "odd//"]);
    const direct = HOSTILE_KEYS.filter((key) => !key.slice(4).includes("/"));
    expect(new Set(objects.map(({ key }) => key))).toEqual(new Set(direct));
    for (const key of HOSTILE_KEYS) {
      expect(await as().describe({ profileId, key })).toMatchObject({ key, sizeBytes: Buffer.byteLength(key) });
    }
  });

  it("that is too long to be one is refused in a sentence", async () => {
    await expect(list("x".repeat(1025))).rejects.toThrow(/1,024|1024/);
    await expect(list("é".repeat(600))).rejects.toThrow("a key has at most 1,024 bytes of valid Unicode");
  });
});

describe("a walk", () => {
  it("finds words anywhere below, whatever their case, and says how far it looked", async () => {
    const page = await as().walk({ profileId, prefix: "a/", words: "THREE" });
    expect(page).toMatchObject({
      objects: [{ key: "a/deep/er/three.txt" }],
      looked: { objects: 3, requests: 1 },
      matching: { objects: 1, bytes: 5 },
      through: "a/two.json",
      nextCursor: null,
    });
  });

  it("goes only so far in one call, and on from there in the next", async () => {
    let cursor: string | null = null;
    let [calls, looked] = [0, 0];
    do {
      const page: Awaited<ReturnType<ReturnType<typeof as>["walk"]>> = await as().walk({
        profileId,
        prefix: "bulk/",
        words: "",
        cursor,
      });
      expect(page.looked.requests).toBeLessThanOrEqual(WALK_LIMITS.requests);
      expect(page.objects).toEqual([]);
      cursor = page.nextCursor;
      looked += page.looked.objects;
      calls++;
    } while (cursor !== null);
    expect(looked).toBe(KEYS);
    expect(calls).toBeGreaterThanOrEqual(KEYS / MOST_ROWS / WALK_LIMITS.requests);
  }, 120_000);

  it("stops where it has as many matches as one answer holds", async () => {
    const page = await as().walk({ profileId, prefix: "bulk/", words: ".bin" });
    expect(page.objects.length).toBeLessThan(WALK_LIMITS.matches + MOST_ROWS);
    expect(page.nextCursor).not.toBeNull();
  });

  it("ends when whoever asked has gone", async () => {
    const controller = new AbortController();
    const { walkBelow } = await import("./walk-below.ts");
    const walk = walkBelow(test.hub, { profileId, prefix: "bulk/", words: "nothing", cursor: null }, controller.signal);
    controller.abort();
    await expect(walk).rejects.toMatchObject({ code: "CANCELLED" });
  });
});

describe("an object", () => {
  it("is described with what its owner wrote on it, and the store's checksum", async () => {
    const { client } = await test.hub.stores.open(profileId);
    const put = new PutObjectCommand({
      Bucket: "training",
      Key: "a/meta.bin",
      Body: "x",
      ContentType: "text/html",
      Metadata: { owner: "<script>" },
      ChecksumAlgorithm: "CRC32",
    });
    await client.send(put);
    expect(await as().describe({ profileId, key: "a/meta.bin" })).toMatchObject({
      contentType: "text/html",
      metadata: [{ name: "owner", value: "<script>" }],
      checksums: [{ name: "CRC32", value: crc32ToBase64(crc32Hex(Buffer.from("x"))) }],
      protection: null,
    });
    await expect(as().describe({ profileId, key: "not/there" })).rejects.toEqual(fault("NO_SUCH_KEY"));
  });

  it("is shown as a picture only when its bytes are one", async () => {
    const { client } = await test.hub.stores.open(profileId);
    const png = Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), Buffer.alloc(64)]);
    const bodies = {
      "img/real.html": png,
      "img/not.png": Buffer.from("<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>"),
      "img/large.png": Buffer.concat([png, Buffer.alloc(MOST_IMAGE_BYTES)]),
    };
    for (const [Key, Body] of Object.entries(bodies)) {
      await client.send(new PutObjectCommand({ Bucket: "training", Key, Body, ContentType: "image/png" }));
    }
    const image = (key: string) => as("operator").image({ profileId, key });
    expect(await image("img/real.html")).toEqual({ type: "image/png", base64: png.toString("base64") });
    await expect(image("img/not.png")).rejects.toEqual(fault("BAD_INPUT"));
    await expect(image("img/large.png")).rejects.toEqual(fault("TOO_LARGE"));
  });

  it("is read by whoever has its link, is saved and not shown, and the record says who gave it away", async () => {
    const link = await as("operator").share({ profileId, key: "a/one.txt", lifetimeMs: 60_000 });
    const answer = await fetch(link.url);
    expect(await answer.text()).toBe("one");
    expect(answer.headers.get("content-disposition")).toBe("attachment");
    expect(answer.headers.get("content-type")).toBe("application/octet-stream");
    const put = await fetch(link.url, { method: "PUT", body: "other" });
    expect(put.status).toBe(403);
    const row = await test.hub.db.audit.findFirstOrThrow({ where: { action: "share object" } });
    expect(row).toMatchObject({ actor: "operator@example.com", subject: "training: a/one.txt for 60 s" });
    expect(JSON.stringify(row)).not.toContain("X-Amz-Signature");
    await expect(as("operator").share({ profileId, key: "a/none", lifetimeMs: 60_000 })).rejects.toEqual(
      fault("NO_SUCH_KEY"),
    );
    await expect(as("operator").share({ profileId, key: "a/one.txt", lifetimeMs: 86_400_001 })).rejects.toThrow(
      "a link lives a day at most",
    );
  });

  it("has no link when no URL can carry its key", async () => {
    const shared = as("operator").share({ profileId, key: "odd/../up.txt", lifetimeMs: 60_000 });
    await expect(shared).rejects.toEqual(fault("HOSTILE_NAME"));
  });
});

describe("versions", () => {
  it("are said to be missing where the store keeps none", async () => {
    expect(await as().versions({ profileId, prefix: "a/" })).toMatchObject({ isSupported: false, versions: [] });
  });
});

describe("what belongs to a checkpoint", () => {
  it("says so: its data, its manifest, the claim of its run, and what an attempt left", async () => {
    const node = await addTestNode(test.hub, profileId, "gpu-1");
    const { epoch } = await callAs(test.hub, node.caller).node.claimEpoch({ run });
    const safe = await makeSafe(test.hub, node, { epoch, step: 500 });
    const { manifestKey } = await test.hub.db.checkpoint.findUniqueOrThrow({ where: { id: safe.checkpointId } });
    const whose = async (key: string) => (await as().describe({ profileId, key })).protection;
    const mine = { checkpointId: safe.checkpointId, run: "llama", step: 500 };
    expect(await whose(keyOf(safe, "model.safetensors"))).toEqual({ why: "checkpoint", ...mine });
    expect(await whose(manifestKey ?? "")).toEqual({ why: "manifest", ...mine });
    expect(await whose("team/epochs/llama/e000001.json")).toMatchObject({ why: "claim", checkpointId: null });
    await putAll(test.hub, profileId, { "team/keeping/llama/c/1-pin.json": "{}" });
    expect(await whose("team/keeping/llama/c/1-pin.json")).toMatchObject({ why: "keeping", checkpointId: null });
    const left = await announce(test.hub, node, { epoch, step: 600 });
    await test.hub.db.checkpoint.update({ where: { id: left.checkpointId }, data: { state: "torn" } });
    await putAll(test.hub, profileId, { [keyOf(left, "x.bin")]: "x" });
    expect(await whose(keyOf(left, "x.bin"))).toMatchObject({ why: "leftover", checkpointId: null });
  });
});

describe("uploads that nobody completed", () => {
  const start = async (key: string): Promise<string> => {
    const { client } = await test.hub.stores.open(profileId);
    const at = { Bucket: "training", Key: key };
    const { UploadId } = await client.send(new CreateMultipartUploadCommand(at));
    await client.send(new UploadPartCommand({ ...at, UploadId, PartNumber: 1, Body: Buffer.alloc(1234) }));
    return UploadId ?? "";
  };

  it("are listed with their sizes and taken back by an admin, on record", async () => {
    const uploadId = await start("a/huge.bin");
    const found = await as().orphans({ profileId, prefix: "a/" });
    expect(found.uploads).toEqual([
      { key: "a/huge.bin", uploadId, startedAt: expect.any(Number), sizeBytes: 1234, protection: null },
    ]);
    await as("admin").abortOrphans({ profileId, uploads: [{ key: "a/huge.bin", uploadId }] });
    expect((await as().orphans({ profileId, prefix: "a/" })).uploads).toEqual([]);
    const row = await test.hub.db.audit.findFirstOrThrow({ where: { action: "abort uploads" } });
    expect(row).toMatchObject({ actor: "admin@example.com", subject: "training: a/huge.bin" });
  });

  it("stay where a node may still be sending, and while the hub's record is in doubt", async () => {
    const key = "team/runs/llama/e000001/abcdefabcdef/model.bin";
    const uploadId = await start(key);
    const abort = (one: { key: string; uploadId: string }) => as("admin").abortOrphans({ profileId, uploads: [one] });
    await expect(abort({ key, uploadId })).rejects.toEqual(fault("BELONGS_TO_TIDEMARK"));
    const mine = { key: "a/mine.bin", uploadId: await start("a/mine.bin") };
    const doubt = await test.hub.db.doubt.create({ data: { kind: "restored", at: new Date() } });
    await expect(abort(mine)).rejects.toEqual(fault("DELETIONS_OFF"));
    await test.hub.db.doubt.delete({ where: { id: doubt.id } });
    const left = await as().orphans({ profileId, prefix: "" });
    expect(left.uploads.map((upload) => upload.key)).toEqual(["a/mine.bin", key]);
  });
});

describe("a listing of the store that fails", () => {
  it("is a fault and never an empty folder", async () => {
    const closed = await addTestProfile(test.hub, "http://127.0.0.1:9", { name: "closed", prefix: "" });
    await expect(as().list({ profileId: closed, prefix: "" })).rejects.toEqual(fault("LINK_DOWN"));
  });
});
