import { randomBytes } from "node:crypto";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { Fault } from "#protocol/faults/fault.ts";
import { readHead } from "#storage/s3/answers.ts";
import { readPieces } from "#worker/object-copy/requests/read-range.ts";
import { callStore, type Engine } from "../engine.ts";
import { sendStream, type StreamToSend } from "./send-stream.ts";
import { openTrialStore, TROUBLES_OF_UPLOADS, type TrialStore } from "#worker/testing/trial-store.ts";

const MIB = 1024 * 1024;
const content = randomBytes(23 * MIB + 321);
let store: TrialStore;
let serial = 0;

beforeAll(async () => void (store = await openTrialStore()));
afterEach(() => store.disarm());
afterAll(() => store.close());

const freshKey = () => `runs/test/${++serial}/stdin`;

/** As a pipe gives it: all in one memory. */
function piped(bytes: Buffer): StreamToSend["input"] & { isDestroyed: boolean } {
  const memory = Buffer.alloc(64 * 1024);
  const input = {
    isDestroyed: false,
    destroy: () => void (input.isDestroyed = true),
    async *[Symbol.asyncIterator]() {
      for (let at = 0; at < bytes.length && !input.isDestroyed; at += memory.length) {
        yield memory.subarray(0, bytes.copy(memory, 0, at));
      }
    },
  };
  return input;
}

function streamOf(key: string, rest: Partial<StreamToSend> = {}): StreamToSend {
  return {
    subject: "stdin",
    key,
    input: piped(content),
    partBytes: 5 * MIB,
    partsAtATime: 2,
    onRead: () => undefined,
    onMoved: () => undefined,
    sweep: async () => undefined,
    signal: new AbortController().signal,
    ...rest,
  };
}

async function expectStored(engine: Engine, key: string, expected: Buffer): Promise<void> {
  const { signal } = new AbortController();
  const { sizeBytes, etag } = await callStore(engine, { operation: { op: "head", key }, signal }, readHead);
  const range = { key, etag, offset: 0, length: sizeBytes, ahead: 2, signal };
  const pieces: Buffer[] = [];
  for await (const piece of readPieces({ engine }, range)) pieces.push(Buffer.from(piece));
  expect(Buffer.concat(pieces).equals(expected)).toBe(true);
}

const succeeded = async (op: string, key: string) =>
  (await store.count(op)).filter((one) => one.key === key).reduce((sum, one) => sum + one.succeeded, 0);

test.each([0, 1, 5 * MIB, 5 * MIB + 1, 10 * MIB, 23 * MIB + 321])(
  "an input of %i bytes becomes an object",
  async (size) => {
    const engine = store.engine();
    const key = freshKey();
    const bytes = content.subarray(0, size);
    let [read, moved] = [0, 0];
    const counting = { onRead: (n: number) => void (read += n), onMoved: (n: number) => void (moved += n) };
    expect(await sendStream(engine, streamOf(key, { input: piped(bytes), ...counting }))).toBe(size);
    expect({ read, moved }).toEqual({ read: size, moved: size });
    await expectStored(engine, key, bytes);
    expect(await succeeded("CreateMultipartUpload", key)).toBe(size > 5 * MIB ? 1 : 0);
    expect(await succeeded("UploadPart", key)).toBe(size > 5 * MIB ? Math.ceil(size / (5 * MIB)) : 0);
  },
);

describe("one trouble each, and the object is still right", () => {
  test.each(TROUBLES_OF_UPLOADS)("%s", async (_, rule) => {
    const engine = store.engine({ idleMs: 1_000 });
    const key = freshKey();
    await store.arm(rule);
    expect(await sendStream(engine, streamOf(key))).toBe(content.length);
    await expectStored(engine, key, content);
  });
});

test("a last part that stands still is sent once more out of the same memory, and the first to arrive counts", async () => {
  // So long that nothing but a second try beside the first can help in time.
  const engine = store.engine({ idleMs: 600_000 });
  const key = freshKey();
  const stalls = { kind: "stall", side: "request", afterBytes: 100_000 };
  await store.arm({ op: "UploadPart", partNumber: 4, times: 1, action: stalls });
  let moved = 0;
  await sendStream(engine, streamOf(key, { onMoved: (bytes) => void (moved += bytes) }));
  expect(await succeeded("UploadPart", key)).toBe(5);
  expect(moved).toBe(content.length);
  await expectStored(engine, key, content);
});

test("an upload the store forgot cannot be begun again: it ends and says so, and nothing more is read", async () => {
  const key = freshKey();
  const input = piped(Buffer.alloc(200 * MIB));
  await store.arm({ op: "UploadPart", partNumber: 2, times: 1, action: { kind: "lose-upload" } });
  await expect(sendStream(store.engine(), streamOf(key, { input }))).rejects.toMatchObject({ code: "NO_SUCH_UPLOAD" });
  expect(input.isDestroyed).toBe(true);
  expect(await succeeded("CompleteMultipartUpload", key)).toBe(0);
});

test("no more is read than parts may be held until the store has some of them", async () => {
  const key = freshKey();
  let read = 0;
  const controller = new AbortController();
  await store.arm({ op: "UploadPart", action: { kind: "stall", side: "request", afterBytes: 100_000 } });
  const input = piped(Buffer.alloc(100 * MIB));
  const onRead = (bytes: number) => void (read += bytes);
  const sending = sendStream(store.engine(), streamOf(key, { input, onRead, signal: controller.signal }));
  // Two on their way and one that fills; of the next one a chunk has come and nobody has room for it.
  await expect.poll(() => read).toBe(15 * MIB + 64 * 1024);
  controller.abort(new Fault("CANCELLED"));
  await expect(sending).rejects.toMatchObject({ code: "CANCELLED" });
  expect(read).toBe(15 * MIB + 64 * 1024);
  expect(await succeeded("AbortMultipartUpload", key)).toBe(1);
});

test("what is refused of the input ends the upload at the store with that fault", async () => {
  const key = freshKey();
  let read = 0;
  const onRead = (bytes: number) => {
    read += bytes;
    if (read > 12 * MIB) throw new Fault("TOO_LARGE", { op: "cp", subject: "stdin" });
  };
  await expect(sendStream(store.engine(), streamOf(key, { onRead }))).rejects.toMatchObject({ code: "TOO_LARGE" });
  expect(await succeeded("AbortMultipartUpload", key)).toBe(1);
});

test.each(["arrives", "breaks"])("a Create whose answer was lost is swept when the input %s", async (how) => {
  const swept: { key: string; withinMs: number }[] = [];
  await store.arm({ op: "CreateMultipartUpload", times: 1, action: { kind: "drop-response" } });
  const key = freshKey();
  const onMoved = () => {
    if (how === "breaks") throw new Fault("READ_FAILED", { op: "read", subject: "stdin" });
  };
  const sending = sendStream(store.engine(), streamOf(key, { onMoved, sweep: async (lost) => void swept.push(lost) }));
  if (how === "breaks") await expect(sending).rejects.toMatchObject({ code: "READ_FAILED" });
  else await sending;
  expect(swept).toMatchObject([{ key }]);
  expect(swept[0]?.withinMs).toBeGreaterThanOrEqual(0);
});
