import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { Fault, isFault } from "#protocol/faults/fault.ts";
import { openStore, type OpenedStore } from "#storage/testing/open-store.ts";
import { stageUpload, type UploadStage } from "#storage/testing/stage-upload.ts";
import { createGate } from "./gate.ts";
import { sumBlob } from "./sum-blob.ts";
import { uploadFile, type UploadInput, type UploadProgress, type UploadTools } from "./upload-file.ts";

const PART = 5 * 1024 * 1024;
const SIZE = 3 * PART + 11;
const whole = Uint8Array.from({ length: SIZE }, (_, index) => (index * 31 + (index >> 11)) & 255);
const file = new Blob([whole]);

let store: OpenedStore;
let stage: Omit<UploadStage, "tools"> & { tools: UploadTools; faults: Fault[] };

function stageTools(at: { key: string; partBytes: number }): typeof stage {
  const staged = stageUpload(store, at);
  const faults: Fault[] = [];
  const tools: UploadTools = {
    ...staged.tools,
    sum: sumBlob,
    gate: createGate(Date.now),
    patience: { now: Date.now, wait: async () => undefined, random: () => 0, lastMovedAt: () => 0 },
    onFault: async (fault) => void faults.push(fault),
  };
  return { ...staged, tools, faults };
}
let count = 0;
beforeAll(async () => {
  store = await openStore();
});
afterAll(() => store.close());
beforeEach(async () => {
  await store.resetCounters();
  stage = stageTools({ key: `up/${count++}`, partBytes: PART });
});

let last: UploadProgress = { parts: [], bytesDone: 0, reused: 0 };
const inputOf = (id: string, changes: Partial<UploadInput> = {}): UploadInput => ({
  id,
  key: stage.key,
  partBytes: PART,
  file,
  from: "fresh",
  signal: new AbortController().signal,
  assertSame: async () => undefined,
  onChange: (progress) => {
    last = { ...progress, parts: [...progress.parts] };
  },
  ...changes,
});
const send = (id: string, changes: Partial<UploadInput> = {}) => uploadFile(inputOf(id, changes), stage.tools);
const codeOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => "done",
    (error: unknown) => (isFault(error) ? error.code : error),
  );

describe("one file from a browser to a bucket", () => {
  it("arrives in parts, byte for byte, each part sent once", async () => {
    await send(await stage.begin(SIZE));
    expect(Buffer.from(whole).equals(await stage.read())).toBe(true);
    expect(await store.asked("UploadPart")).toEqual({ requests: 4, succeeded: 4 });
    expect(last).toEqual({ parts: ["#", "#", "#", "#"], bytesDone: SIZE, reused: 0 });
  });

  it("needs no header that a CORS rule could hide: no part goes twice where it exposes none", async () => {
    const { put } = stage.tools;
    stage.tools.put = async (request, body, watch) => {
      const answer = await put(request, body, watch);
      const seen = new Set(["content-type", "content-length"]);
      return {
        ...answer,
        headers: Object.fromEntries(Object.entries(answer.headers).filter(([name]) => seen.has(name))),
      };
    };
    await send(await stage.begin(SIZE));
    expect(Buffer.from(whole).equals(await stage.read())).toBe(true);
    expect(await store.asked("UploadPart")).toEqual({ requests: 4, succeeded: 4 });
  });

  it("is one PUT when it fits in a part, also without any bytes", async () => {
    for (const size of [0, 1, PART]) {
      stage = stageTools({ key: `small/${size}`, partBytes: PART });
      await send(await stage.begin(size), { file: file.slice(0, size) });
      expect((await stage.read()).length).toBe(size);
    }
    expect(await store.asked("PutObject")).toEqual({ requests: 3, succeeded: 3 });
  });

  it("has a few parts ready before a connection is free for them, and no more than a few", async () => {
    const signed: number[] = [];
    const { sign } = stage.tools;
    stage.tools.sign = (id, parts) => {
      signed.push(...parts.map(({ partNumber }) => partNumber));
      return sign(id, parts);
    };
    const stop = new AbortController();
    let sending = 0;
    stage.tools.put = (_request, _body, { signal }) => {
      sending++;
      return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(new Fault("CANCELLED"))));
    };
    const partBytes = Math.ceil(SIZE / 50);
    const sent = codeOf(send(await stage.begin(SIZE), { signal: stop.signal, partBytes }));
    await expect.poll(() => sending).toBe(6);
    await expect.poll(() => signed.toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    stop.abort();
    expect(await sent).toBe("CANCELLED");
  });

  it("goes on after it was cut off, and sends no part again that the store's list has", async () => {
    const id = await stage.begin(SIZE);
    const stop = new AbortController();
    const onChange = (progress: UploadProgress) => {
      if (progress.parts.filter((state) => state === "#").length === 2) stop.abort();
    };
    stage.tools.gate.trouble();
    expect(await codeOf(send(id, { signal: stop.signal, onChange }))).toBe("CANCELLED");
    const listed = (await stage.tools.listParts(id)).length;
    expect(listed).toBeGreaterThanOrEqual(2);
    await send(id, { from: "resumed" });
    // One that was under way when it was cut off may have come to be listed since.
    expect(last.reused).toBeGreaterThanOrEqual(listed);
    expect(Buffer.from(whole).equals(await stage.read())).toBe(true);
  });

  it.each([
    { what: "the store throttles", action: { kind: "error", code: "SlowDown" }, code: "THROTTLED" },
    { what: "the store has a bad moment", action: { kind: "error", code: "InternalError" }, code: "STORE_UNAVAILABLE" },
    { what: "a connection is cut", action: { kind: "reset", at: "request", afterBytes: 100_000 }, code: "LINK_DOWN" },
    { what: "an answer is lost", action: { kind: "drop-response" }, code: "LINK_DOWN" },
    {
      what: "a byte is changed on the way",
      action: { kind: "flip", side: "request", offset: 5 },
      code: "CHECKSUM_MISMATCH",
    },
    { what: "somebody else answers", action: { kind: "html", work: "skipped" }, code: "INTERCEPTED" },
  ])("repeats only the part when $what", async ({ action, code }) => {
    await store.arm({ op: "UploadPart", partNumber: 2, times: 2, action });
    await send(await stage.begin(SIZE));
    expect(stage.faults.map((fault) => fault.code)).toEqual([code, code]);
    expect(Buffer.from(whole).equals(await stage.read())).toBe(true);
    expect((await store.asked("UploadPart")).requests).toBe(6);
  });

  it("has a part signed for again when its signature is over", async () => {
    const id = await stage.begin(SIZE);
    stage.signing.agoMs = 120_000;
    stage.tools.onFault = async (fault) => {
      stage.faults.push(fault);
      stage.signing.agoMs = 0;
    };
    await send(id);
    expect(new Set(stage.faults.map((fault) => fault.code))).toEqual(new Set(["SIGNATURE_EXPIRED"]));
    expect(Buffer.from(whole).equals(await stage.read())).toBe(true);
  });

  it("is told to begin anew when the store forgot the upload", async () => {
    const id = await stage.begin(SIZE);
    await store.arm({ op: "UploadPart", partNumber: 2, times: 1, action: { kind: "lose-upload" } });
    expect(await codeOf(send(id))).toBe("NO_SUCH_UPLOAD");
  });

  it("keeps the parts that arrived when one cannot be sent, and says why", async () => {
    const id = await stage.begin(SIZE);
    await store.arm({ op: "UploadPart", partNumber: 3, action: { kind: "error", code: "AccessDenied", status: 403 } });
    expect(await codeOf(send(id))).toBe("ACCESS_DENIED");
    expect(last.parts).toEqual(["#", "#", ".", "#"]);
  });

  it("gives up an outage in which nothing moved for ten minutes, by the clock on the wall", async () => {
    let nowMs = 0;
    const { patience } = stage.tools;
    stage.tools.patience = { ...patience, now: () => nowMs, wait: async () => void (nowMs += 30_000) };
    await store.arm({ op: "UploadPart", action: { kind: "error", code: "InternalError" } });
    expect(await codeOf(send(await stage.begin(SIZE)))).toBe("STORE_UNAVAILABLE");
    expect(nowMs).toBeGreaterThan(600_000);
    expect(nowMs).toBeLessThan(4 * 700_000);
  });

  it("becomes no object when the file changed meanwhile", async () => {
    const assertSame = () => Promise.reject(new Fault("SOURCE_CHANGED"));
    expect(await codeOf(send(await stage.begin(SIZE), { assertSame }))).toBe("SOURCE_CHANGED");
    expect(await store.asked("CompleteMultipartUpload")).toEqual({ requests: 0, succeeded: 0 });
  });

  it("stops where a fault says that no further try helps", async () => {
    await store.arm({ op: "UploadPart", partNumber: 1, action: { kind: "reset", at: "start", afterBytes: 0 } });
    stage.tools.onFault = () => Promise.reject(new Fault("CORS_MISSING"));
    expect(await codeOf(send(await stage.begin(SIZE)))).toBe("CORS_MISSING");
  });
});
