import { randomBytes } from "node:crypto";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { readPut } from "#storage/s3/answers.ts";
import { crc32Hex } from "#storage/checksums/crc32.ts";
import { systemClock } from "#worker/base/clock.ts";
import { callStore } from "../engine.ts";
import { fetchSpan } from "./fetch-span.ts";
import { createEtagGuard } from "./etag-guard.ts";
import type { Receiving } from "./receive-job.ts";
import type { Piece } from "./piece.ts";
import { createPatience } from "../store-session/retry.ts";
import { createSpanQueue } from "./range-scheduler.ts";
import { openTrialStore, type TrialStore } from "#worker/testing/trial-store.ts";

const content = randomBytes(3_000_000);
const { signal } = new AbortController();
let store: TrialStore;
let piece: Piece;

beforeAll(async () => {
  store = await openTrialStore();
  const object = { key: "runs/test/range.bin", crc32: crc32Hex(content) };
  const operation = { op: "put", ...object, sizeBytes: content.length, nonce: "n" } as const;
  const { etag } = await callStore(store.engine(), { operation, signal, body: content }, readPut);
  piece = { ...object, objectOffset: 0, fileOffset: 0, length: content.length, etag };
});
afterEach(() => store.disarm());
afterAll(() => store.close());

async function fetchAll(engine = store.engine()) {
  const giving = {
    now: systemClock.now(),
    rttMs: 0,
    silentMs: 0,
    isGrown: true,
    hasRoom: () => true,
    width: 1,
    isHeld: false,
  };
  const span = createSpanQueue([piece]).take(giving);
  if (span === null) throw new Error("a span was expected");
  const file = Buffer.alloc(content.length);
  const retries: { atMs: number; received: number; answeredAt: number | null; sinceMs: number }[] = [];
  const job: Receiving = {
    fd: file,
    path: "memory",
    pieces: [piece],
    signal,
    patience: createPatience(systemClock),
    etagGuard: createEtagGuard(),
    onMoved: () => undefined,
    onPiece: () => undefined,
    onDone: () => Promise.resolve(),
    onPartly: () => Promise.resolve(),
    onWrong: () => Promise.resolve(),
    onRetry: () => {
      const { received, answeredAt, movedAt, startedAt } = span;
      retries.push({ atMs: systemClock.now(), received, answeredAt, sinceMs: startedAt - movedAt });
    },
  };
  await fetchSpan(engine, job, span);
  expect(file.equals(content)).toBe(true);
  return { span, retries, engine };
}

test("each request of a range has a clock of its own, and what others brought is not counted as its own", async () => {
  await store.arm({
    op: "GetObject",
    times: 1,
    action: { kind: "truncate", afterBytes: 1_000_000, framing: "length" },
  });
  const { span, retries } = await fetchAll();
  expect(retries).toHaveLength(1);
  const [retry] = retries;
  expect(span.before).toBe(retry?.received);
  expect(span.before).toBeGreaterThan(0);
  expect(span.startedAt).toBeGreaterThanOrEqual(retry?.atMs ?? Infinity);
  expect(span.answeredAt).toBeGreaterThanOrEqual(span.startedAt);
  expect(span.movedAt).toBeGreaterThanOrEqual(span.answeredAt ?? Infinity);
});

test("who is still without an answer has none, and is not silent, although an earlier request had one", async () => {
  const cut = { kind: "truncate", afterBytes: 1_000_000, framing: "length" };
  await store.arm({ op: "GetObject", attempt: 1, action: cut });
  await store.arm({ op: "GetObject", attempt: 2, action: { kind: "error", status: 503, code: "SlowDown" } });
  const { retries } = await fetchAll();
  expect(retries.map(({ answeredAt }) => answeredAt !== null)).toEqual([true, false]);
  expect(retries.at(-1)?.sinceMs).toBeLessThanOrEqual(0);
});

test("what a connection rests for a limit is no silence", async () => {
  const engine = store.engine({ limit: 2_000_000 });
  await fetchAll(engine);
  expect(engine.stallHistory.longestMs()).toBe(0);
});

test("how long a connection was silent before it went on is remembered", async () => {
  await store.arm({ op: "GetObject", times: 1, action: { kind: "delay", ms: 600 } });
  const { engine } = await fetchAll();
  expect(engine.stallHistory.longestMs()).toBeGreaterThan(300);
});
