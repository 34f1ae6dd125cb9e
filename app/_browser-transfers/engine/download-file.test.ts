import { PutObjectCommand } from "@aws-sdk/client-s3";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { isFault } from "#protocol/faults/fault.ts";
import { createControlClient } from "#storage/s3/client.ts";
import { crc32Hex } from "#storage/checksums/crc32.ts";
import { statObject, type ObjectState } from "#storage/s3/multipart.ts";
import { presignOperation } from "#storage/signing/signing.ts";
import { openStore, type OpenedStore } from "#storage/testing/open-store.ts";
import { stageUpload } from "#storage/testing/stage-upload.ts";
import { downloadInOrder, downloadToPlaces, keepSigned, type DownloadTools } from "./download-file.ts";
import { createGate } from "./gate.ts";
import { planRanges } from "./plan-ranges.ts";
import { sumBlob } from "./sum-blob.ts";
import { uploadFile } from "./upload-file.ts";

const PART = 5 * 1024 * 1024;
const SIZE = 7 * PART + 11;
const whole = Uint8Array.from({ length: SIZE }, (_, index) => (index * 37 + (index >> 9)) & 255);
const key = "down/model.bin";

let store: OpenedStore;
let object: ObjectState;
let tools: DownloadTools;
let codes: string[] = [];
let bytesToldOf = 0;
const signal = new AbortController().signal;

beforeAll(async () => {
  store = await openStore();
  const stage = stageUpload(store, { key, partBytes: PART });
  await uploadFile(
    {
      id: await stage.begin(SIZE),
      key,
      partBytes: PART,
      file: new Blob([whole]),
      from: "fresh",
      signal,
      assertSame: async () => undefined,
      onChange: () => undefined,
    },
    {
      ...stage.tools,
      sum: sumBlob,
      gate: createGate(Date.now),
      patience: { now: Date.now, wait: async () => undefined, random: () => 0, lastMovedAt: () => 0 },
      onFault: async () => undefined,
    },
  );
  const client = createControlClient({ access: store.access, credential: store.credential });
  const found = await statObject(client, { bucket: store.access.bucket, key, checksum: "crc32" });
  if (found === null) throw new Error("nothing was uploaded");
  object = found;
});
afterAll(() => store.close());
beforeEach(async () => {
  await store.resetCounters();
  codes = [];
  bytesToldOf = 0;
  const { access, credential } = store;
  tools = {
    sign: keepSigned(async (name, etag) =>
      presignOperation({
        access,
        credential,
        operation: { op: "get", key: name, offset: 0, length: 1, etag },
        nowMs: Date.now(),
        lifetimeMs: 600_000,
      }),
    ),
    fetch,
    gate: createGate(Date.now),
    patience: { now: Date.now, wait: async () => undefined, random: () => 0, lastMovedAt: () => 0 },
    onFault: async ({ code }) => void codes.push(code),
    onBytes: (bytes) => {
      bytesToldOf += bytes;
    },
  };
});

const piece = (crc32: string | null, at = 0, length = SIZE) => ({ key, offset: at, length, etag: object.etag, crc32 });
const codeOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => "done",
    (error: unknown) => (isFault(error) ? error.code : error),
  );

async function toPlaces(groups: ReturnType<typeof planRanges>, written = new Map<number, string>()) {
  const target = new Uint8Array(SIZE);
  const write = async (at: number, bytes: Uint8Array) => target.set(bytes, at);
  const verdict = await downloadToPlaces({ groups, written, write, signal }, tools);
  return { target, verdict };
}

describe("one file from a bucket to a browser", () => {
  it("comes in ranges to their places, verified against what the store keeps of its parts", async () => {
    expect(object.sum?.partCount).toBe(8);
    const groups = planRanges([piece(null)], object.sum);
    const { target, verdict } = await toPlaces(groups);
    expect(Buffer.from(target).equals(whole)).toBe(true);
    expect(verdict.verifiedBytes).toBe(SIZE);
    expect(bytesToldOf).toBe(SIZE);
    expect(await store.asked("GetObject")).toEqual({ requests: 8, succeeded: 8 });
  });

  it.each([
    // "hello hello hello" in each encoding.
    ["gzip", "H4sIAAAAAAAC/8tIzcnJV8hAkACAiPnlEQAAAA=="],
    ["br", "GxAA+I2Ubt5EVYaWbCBvAU8cYBw="],
    ["zstd", "KLUv/SARZQAAMGhlbGxvIAEAMUoR"],
  ])("that is stored as %s comes as it is stored, though the browser would undo it", async (encoding, encoded) => {
    const { access, credential } = store;
    const client = createControlClient({ access, credential });
    const bytes = Buffer.from(encoded, "base64");
    const coded = { Bucket: access.bucket, Key: "down/log", Body: bytes, ContentEncoding: encoding };
    const { ETag: etag = "" } = await client.send(new PutObjectCommand(coded));
    tools.sign = keepSigned(async (name, pinned) => {
      const operation = { op: "get", key: name, offset: 0, length: 1, etag: pinned, isUncoded: true } as const;
      return presignOperation({ access, credential, operation, nowMs: Date.now(), lifetimeMs: 600_000 });
    });
    const range = { key: coded.Key, offset: 0, length: bytes.length, etag, crc32: null };
    const chunks: Uint8Array[] = [];
    for await (const one of downloadInOrder({ groups: planRanges([range], null), signal }, tools)) chunks.push(one);
    expect(Buffer.concat(chunks).equals(bytes)).toBe(true);
  });

  it("is written in pieces as it comes, so that a range of any length takes little memory", async () => {
    const written: number[] = [];
    let came = 0;
    tools.onBytes = (bytes) => {
      came += bytes;
    };
    let held = 0;
    const write = async (_at: number, bytes: Uint8Array) => {
      written.push(bytes.length);
      held = Math.max(held, came - written.reduce((sum, length) => sum + length, 0));
    };
    const groups = planRanges([piece(crc32Hex(whole.subarray(0, 4 * PART)), 0, 4 * PART)], null);
    expect(groups[0]?.ranges).toHaveLength(1);
    await downloadToPlaces({ groups, written: new Map(), write, signal }, tools);
    expect(written.reduce((sum, length) => sum + length, 0)).toBe(4 * PART);
    expect(Math.max(...written)).toBeLessThanOrEqual(1024 * 1024);
    expect(held).toBeLessThanOrEqual(3 * 1024 * 1024);
  });

  it("is verified against the checksums of a manifest, extent by extent", async () => {
    const middle = 2 * PART + 5;
    const extents = [
      piece(crc32Hex(whole.subarray(0, middle)), 0, middle),
      piece(crc32Hex(whole.subarray(middle)), middle, SIZE - middle),
    ];
    expect((await toPlaces(planRanges(extents, null))).verdict.verifiedBytes).toBe(SIZE);
    const wrong = extents.map((one) => ({ ...one, crc32: "00000000" }));
    expect(await codeOf(toPlaces(planRanges(wrong, null)))).toBe("CHECKSUM_MISMATCH");
  });

  it("says that nothing could be compared where nobody kept a checksum", async () => {
    const { target, verdict } = await toPlaces(planRanges([piece(null)], null));
    expect(Buffer.from(target).equals(whole)).toBe(true);
    expect(verdict.verifiedBytes).toBe(0);
  });

  it("comes in its order where only a stream can be written", async () => {
    const chunks: Uint8Array[] = [];
    for await (const bytes of downloadInOrder({ groups: planRanges([piece(null)], object.sum), signal }, tools)) {
      chunks.push(bytes);
    }
    expect(Buffer.concat(chunks).equals(whole)).toBe(true);
  });

  it.each([
    { what: "an answer ends early", action: { kind: "truncate", afterBytes: 1000, framing: "close" } },
    { what: "a connection is cut", action: { kind: "reset", at: "response", afterBytes: 1000 } },
    { what: "the store throttles", action: { kind: "error", code: "SlowDown" } },
    { what: "somebody else answers", action: { kind: "html", work: "skipped" } },
  ])("repeats only the range when $what", async ({ action }) => {
    await store.arm({ op: "GetObject", times: 1, action });
    const { target } = await toPlaces(planRanges([piece(null)], object.sum));
    expect(Buffer.from(target).equals(whole)).toBe(true);
    expect(codes).toHaveLength(1);
    expect((await store.asked("GetObject")).requests).toBe(9);
    expect(bytesToldOf).toBe(SIZE);
  });

  it("finds a changed byte, and fetches that extent again", async () => {
    await store.arm({ op: "GetObject", times: 1, action: { kind: "flip", side: "response", offset: 7 } });
    const extents = [0, 1, 2].map((index) => {
      const [from, to] = [index * 12 * 1024 * 1024, Math.min(SIZE, (index + 1) * 12 * 1024 * 1024)];
      return piece(crc32Hex(whole.subarray(from, to)), from, to - from);
    });
    const { target } = await toPlaces(planRanges(extents, null));
    expect(Buffer.from(target).equals(whole)).toBe(true);
    expect(codes).toEqual(["CHECKSUM_MISMATCH"]);
  });

  it("goes on after a pause with what is not there yet", async () => {
    const groups = planRanges([piece(null)], object.sum);
    const written = new Map([[0, crc32Hex(whole.subarray(0, PART))]]);
    expect((await toPlaces(groups, written)).verdict.verifiedBytes).toBe(SIZE);
    expect((await store.asked("GetObject")).requests).toBe(7);
  });

  it("ends when the object became another one", async () => {
    const groups = planRanges([{ ...piece(null), etag: '"another"' }], null);
    expect(await codeOf(toPlaces(groups))).toBe("OBJECT_CHANGED");
  });

  it("says that the CORS rule is at fault where it hides the range of an answer, and asks no second time", async () => {
    let asked = 0;
    tools.fetch = async (url, init) => {
      asked++;
      const answer = await fetch(url, init);
      const headers = new Headers(answer.headers);
      for (const hidden of ["content-range", "etag"]) headers.delete(hidden);
      return new Response(answer.body, { status: answer.status, headers });
    };
    expect(await codeOf(toPlaces(planRanges([piece(null, 0, PART)], null)))).toBe("CORS_MISSING");
    expect(asked).toBe(1);
  });

  it("reads a range whose answer hides its ETag: the request was pinned to the version", async () => {
    tools.fetch = async (url, init) => {
      const answer = await fetch(url, init);
      const headers = new Headers(answer.headers);
      headers.delete("etag");
      return new Response(answer.body, { status: answer.status, headers });
    };
    const { target } = await toPlaces(planRanges([piece(null)], null));
    expect(Buffer.from(target).equals(whole)).toBe(true);
  });
});
