import { beforeEach, describe, expect, it } from "vitest";
import type { StartedUpload } from "#protocol/buckets/browser-transfers.ts";
import type { SignedRequest } from "#protocol/wire/operations.ts";
import { crc32Hex } from "#storage/checksums/crc32.ts";
import { listUploads } from "#storage/s3/listing.ts";
import { statObject } from "#storage/s3/multipart.ts";
import { fault } from "#server/testing/match-fault.ts";
import { hubForEach, store, test } from "#server/testing/hub-for-each.ts";
import { addTestPerson, addTestProfile, callAs, type TestPerson } from "#server/testing/open-test-hub.ts";
import { newId } from "#server/platform/random-id.ts";

const PART = 5 * 1024 * 1024;
const bytes = (length: number) => Buffer.alloc(length, "tide");

let profileId: string;
let ada: TestPerson;
let folder = 0;
const key = (name: string) => `data/${folder}/${name}`;

hubForEach();
beforeEach(async () => {
  folder++;
  profileId = await addTestProfile(test.hub, store.endpoint);
  ada = await addTestPerson(test.hub, "ada@example.com", "operator");
});

const asAda = () => callAs(test.hub, ada.caller).browserTransfers;

async function start(name: string, sizeBytes: number, ifThere: "keep" | "replace" = "keep"): Promise<StartedUpload> {
  const files = [{ id: newId(), key: name, sizeBytes }];
  const [started] = await asAda().start({ profileId, ifThere, files });
  if (started === undefined) throw new Error("no outcome");
  return started;
}

async function send(request: SignedRequest | undefined, body: Uint8Array<ArrayBuffer>): Promise<Response> {
  if (request === undefined) throw new Error("nothing was signed");
  const { "content-length": _, ...headers } = request.headers;
  return fetch(request.url, { method: request.method, headers, body });
}

const objectAt = async (name: string) => {
  const { client, access } = await test.hub.stores.open(profileId);
  return statObject(client, { bucket: access.bucket, key: name, checksum: "crc32" });
};

/** Part by part, as a page does; returns what the file sums to by parts. */
async function sendParts(id: string, whole: Buffer<ArrayBuffer>, numbers: readonly number[]): Promise<string[]> {
  const sums: string[] = [];
  for (const partNumber of numbers) {
    const part = Buffer.from(whole.subarray((partNumber - 1) * PART, partNumber * PART));
    const crc32 = crc32Hex(part);
    sums.push(crc32);
    const { requests } = await asAda().sign({ id, parts: [{ partNumber, crc32 }] });
    expect((await send(requests[0], part)).status).toBe(200);
  }
  return sums;
}

async function leftAt(name: string): Promise<string[]> {
  const { client, access } = await test.hub.stores.open(profileId);
  const keys: string[] = [];
  for await (const { key: left } of listUploads(client, { bucket: access.bucket, prefix: name })) keys.push(left);
  return keys;
}

describe("an upload from a browser", () => {
  it("goes in parts straight to the store, goes on with what is there, and is completed by the hub", async () => {
    const whole = bytes(2 * PART + 5);
    const started = await start(key("model.bin"), whole.length);
    expect(started).toMatchObject({ outcome: "started", partBytes: PART, partCount: 3 });
    const { id } = started;
    const first = await sendParts(id, whole, [1, 3]);

    // As after a reload: the list of the store is all that counts.
    const listed = await asAda().parts({ id });
    expect(listed.parts.map(({ partNumber }) => partNumber)).toEqual([1, 3]);
    expect(listed.parts.map(({ crc32 }) => crc32)).toEqual(first);
    const early = await asAda().finish({ uploads: [{ id, sums: [] }] });
    expect(early).toEqual([{ id, outcome: "missing", partNumbers: [2] }]);

    const [second = ""] = await sendParts(id, whole, [2]);
    const sums = [first[0] ?? "", second, first[1] ?? ""];
    const [done] = await asAda().finish({ uploads: [{ id, sums }] });
    expect(done).toMatchObject({ outcome: "done", sizeBytes: whole.length });
    // The same answer again, for a page that did not get the first one.
    expect(await asAda().finish({ uploads: [{ id, sums }] })).toEqual([done]);
    expect((await objectAt(key("model.bin")))?.sizeBytes).toBe(whole.length);
    await expect(asAda().sign({ id, parts: [{ partNumber: 1, crc32: "00000000" }] })).rejects.toEqual(
      fault("NO_SUCH_UPLOAD"),
    );
  });

  it("of a file in one piece is one PUT, also of a file without bytes", async () => {
    for (const size of [0, 1, PART]) {
      const started = await start(key(`small-${size}`), size);
      const { id } = started;
      const body = bytes(size);
      const { requests } = await asAda().sign({ id, parts: [{ partNumber: 1, crc32: crc32Hex(body) }] });
      expect((await asAda().finish({ uploads: [{ id, sums: [] }] }))[0]).toMatchObject({ outcome: "missing" });
      expect((await send(requests[0], body)).status).toBe(200);
      expect((await asAda().finish({ uploads: [{ id, sums: [] }] }))[0]).toMatchObject({ outcome: "done" });
      expect((await objectAt(key(`small-${size}`)))?.sizeBytes).toBe(size);
    }
  });

  it("is signed for its own length and bytes, and for no longer than minutes", async () => {
    const { id } = await start(key("small"), 4);
    const { requests } = await asAda().sign({ id, parts: [{ partNumber: 1, crc32: crc32Hex(Buffer.from("tide")) }] });
    expect((await send(requests[0], Buffer.from("tides"))).ok).toBe(false);
    expect((await send(requests[0], Buffer.from("ebbs"))).ok).toBe(false);
    expect(requests[0]?.expiresAt).toBeLessThan(Date.now() + 660_000);
    await expect(asAda().sign({ id, parts: [{ partNumber: 2, crc32: "00000000" }] })).rejects.toEqual(
      fault("BAD_INPUT"),
    );
  });

  it("is sent again where the store's sum of a part is not what the page read", async () => {
    const whole = bytes(2 * PART);
    const { id } = await start(key("flipped"), whole.length);
    const sums = await sendParts(id, whole, [1, 2]);
    const wrong = await asAda().finish({ uploads: [{ id, sums: ["0badc0de", sums[1] ?? ""] }] });
    expect(wrong).toEqual([{ id, outcome: "missing", partNumbers: [1] }]);
  });

  it("belongs to who began it: to others it does not exist, whatever their role", async () => {
    const { id } = await start(key("mine"), 2 * PART);
    const eve = await addTestPerson(test.hub, "eve@example.com", "admin");
    const asEve = callAs(test.hub, eve.caller).browserTransfers;
    await expect(asEve.sign({ id, parts: [{ partNumber: 1, crc32: "00000000" }] })).rejects.toEqual(fault("NOT_FOUND"));
    await expect(asEve.parts({ id })).rejects.toEqual(fault("NOT_FOUND"));
    expect((await asEve.finish({ uploads: [{ id, sums: [] }] }))[0]).toMatchObject({ fault: { code: "NOT_FOUND" } });
    await asEve.giveUp({ ids: [id] });
    expect((await asAda().parts({ id })).partCount).toBe(2);
    expect(await asEve.open()).toEqual([]);
    expect((await asAda().open()).map((one) => one.id)).toEqual([id]);
  });

  it("never goes below what Tidemark keeps itself, whichever profile of the bucket keeps it", async () => {
    await addTestProfile(test.hub, "http://127.0.0.1:9", { name: "inner", prefix: "data/inner/" });
    const own = [
      "runs/llama/x",
      "manifests/llama/x.json",
      "epochs/llama/e1.json",
      "_tidemark/probe/x",
      "tidemark-check/x",
    ];
    for (const name of ["team/", "data/inner/"].flatMap((prefix) => own.map((path) => prefix + path))) {
      expect(await start(name, 1), name).toMatchObject({ outcome: "refused", fault: { code: "HOSTILE_NAME" } });
    }
    const hostile = ["", "/x", "a//b", "a/../b", "./a", "a\u0000b", "a/", "x".repeat(1025)];
    for (const name of hostile) await expect(start(name, 1), name).rejects.toMatchObject({ code: "BAD_REQUEST" });
    expect(await start("team/runs-of-mine/x", 1)).toMatchObject({ outcome: "started" });
  });

  it("leaves an object that is there, and says what it is, unless it shall be replaced", async () => {
    const name = key("there");
    const put = async (text: string, ifThere: "keep" | "replace") => {
      const { id } = await start(name, text.length, ifThere);
      const body = Buffer.from(text);
      const { requests } = await asAda().sign({ id, parts: [{ partNumber: 1, crc32: crc32Hex(body) }] });
      const answer = await send(requests[0], body);
      return { id, status: answer.status };
    };
    // Both begin before there is anything: the later one does not overwrite the earlier one.
    const late = await start(name, 4);
    const { id } = await put("tide", "keep");
    expect((await asAda().finish({ uploads: [{ id, sums: [] }] }))[0]).toMatchObject({ outcome: "done" });
    const signed = await asAda().sign({
      id: late.id,
      parts: [{ partNumber: 1, crc32: crc32Hex(Buffer.from("ebbs")) }],
    });
    expect((await send(signed.requests[0], Buffer.from("ebbs"))).status).toBe(412);

    const found = await start(name, 4);
    expect(found).toMatchObject({
      outcome: "there",
      found: { sizeBytes: 4, sum: { crc32: crc32Hex(Buffer.from("tide")) } },
    });
    const replaced = await put("ebbs", "replace");
    expect(replaced.status).toBe(200);
    expect((await asAda().finish({ uploads: [{ id: replaced.id, sums: [] }] }))[0]).toMatchObject({ outcome: "done" });
    expect((await objectAt(name))?.sum?.crc32).toBe(crc32Hex(Buffer.from("ebbs")));
  });

  it("is begun once however often it is asked for, and taken back from the store when it is given up", async () => {
    const files = [{ id: newId(), key: key("twice"), sizeBytes: PART * 2 }];
    const [one] = await asAda().start({ profileId, ifThere: "keep", files });
    expect(await asAda().start({ profileId, ifThere: "keep", files })).toEqual([one]);
    expect(await leftAt(key("twice"))).toHaveLength(1);
    await asAda().giveUp({ ids: [files[0]?.id ?? ""] });
    expect(await leftAt(key("twice"))).toHaveLength(0);
    expect(await asAda().open()).toEqual([]);
  });

  it("that nobody came back to for a week is taken back when the next one begins", async () => {
    const { id } = await start(key("left"), PART * 2);
    test.advance(8 * 86_400_000);
    await start(key("next"), 1);
    await expect(asAda().parts({ id })).rejects.toEqual(fault("NOT_FOUND"));
    expect(await leftAt(key("left"))).toEqual([]);
  });

  it("stands in the record, with the use of the key", async () => {
    const { id } = await start(key("noted"), 1);
    await asAda().sign({ id, parts: [{ partNumber: 1, crc32: "00000000" }] });
    const { rows } = await callAs(test.hub, "admin").audit.list({ cursor: null, limit: 50 });
    const mine = rows
      .filter(({ actor }) => actor === "ada@example.com")
      .map(({ action, subject }) => [action, subject]);
    expect(mine).toContainEqual(["upload from a browser", `training: ${key("noted")}`]);
    expect(mine).toContainEqual(["sign writes", "training"]);
  });
});
