import { afterAll, beforeAll, expect, test } from "vitest";
import { Fault } from "#protocol/faults/fault.ts";
import { openTrialStore, type TrialStore } from "../testing/trial-store.ts";
import { measureDown, measureUp, type Measuring } from "./measure.ts";

let store: TrialStore;
let serial = 0;
beforeAll(async () => {
  store = await openTrialStore();
});
afterAll(() => store.close());

const BOX_MS = 1_800;

const measuring = (changes: Partial<Measuring> = {}): Measuring => ({
  key: `_tidemark/probe/${++serial}`,
  boxMs: BOX_MS,
  signal: new AbortController().signal,
  onAnswer: () => undefined,
  ...changes,
});

const succeeded = async (op: string, key: string) =>
  (await store.count(op)).filter((one) => one.key === key).reduce((sum, one) => sum + one.succeeded, 0);

test("up: parts are sent until the time is over, and the upload is taken back", async () => {
  const dates: (string | undefined)[] = [];
  const about = measuring({ onAnswer: ({ date }) => dates.push(date) });
  const rate = await measureUp(store.engine(), about);
  expect(rate.bytesPerSecond).toBeGreaterThan(0);
  expect(rate.movedBytes).toBeGreaterThan(0);
  expect(Date.parse(dates[0] ?? "")).not.toBeNaN();
  expect(await succeeded("CreateMultipartUpload", about.key)).toBe(1);
  expect(await succeeded("AbortMultipartUpload", about.key)).toBe(1);
  expect(await succeeded("CompleteMultipartUpload", about.key)).toBe(0);
});

test("down: an object is fetched again and again, and deleted", async () => {
  const about = measuring();
  const up = store.engine();
  const rate = await measureDown({ up, down: store.engine() }, { ...about, upBytesPerSecond: 10_000 });
  expect(rate.bytesPerSecond).toBeGreaterThan(0);
  expect(await succeeded("GetObject", about.key)).toBeGreaterThan(1);
  expect(await succeeded("DeleteObject", about.key)).toBe(1);
});

test("down: an object that does not arrive in time is made smaller", async () => {
  await store.arm({ op: "PutObject", times: 1, action: { kind: "stall", side: "request", afterBytes: 300_000 } });
  const about = { ...measuring(), upBytesPerSecond: 4_000_000 };
  const rate = await measureDown({ up: store.engine(), down: store.engine() }, about);
  expect(rate.bytesPerSecond).toBeGreaterThan(0);
  expect(await succeeded("PutObject", about.key)).toBe(1);
  await store.disarm();
});

test("stopped in the middle, it takes away what it made", async () => {
  const stop = new AbortController();
  const about = measuring({ signal: stop.signal, boxMs: 60_000 });
  const up = measureUp(store.engine(), about);
  up.catch(() => undefined);
  await expect.poll(async () => (await store.count("UploadPart")).some(({ key }) => key === about.key)).toBe(true);
  stop.abort(new Fault("CANCELLED"));
  await expect(up).rejects.toMatchObject({ code: "CANCELLED" });
  expect(await succeeded("AbortMultipartUpload", about.key)).toBe(1);
  const again = new AbortController();
  const other = measuring({ signal: again.signal, boxMs: 60_000 });
  const down = measureDown({ up: store.engine(), down: store.engine() }, { ...other, upBytesPerSecond: null });
  down.catch(() => undefined);
  await expect.poll(() => succeeded("GetObject", other.key)).toBeGreaterThan(0);
  again.abort(new Fault("CANCELLED"));
  await expect(down).rejects.toMatchObject({ code: "CANCELLED" });
  expect(await succeeded("DeleteObject", other.key)).toBe(1);
});

test("a store that refuses ends it at once with its own reason", async () => {
  await store.arm({ op: "UploadPart", action: { kind: "error", status: 403, code: "AccessDenied" } });
  const about = measuring({ boxMs: 60_000 });
  await expect(measureUp(store.engine(), about)).rejects.toMatchObject({ code: "ACCESS_DENIED" });
  expect(await succeeded("AbortMultipartUpload", about.key)).toBe(1);
  await store.disarm();
});

test("a few failures on the way are tried again", async () => {
  await store.arm({ op: "GetObject", times: 3, action: { kind: "error", status: 503, code: "SlowDown" } });
  const about = { ...measuring(), upBytesPerSecond: null };
  const rate = await measureDown({ up: store.engine(), down: store.engine() }, about);
  expect(rate.bytesPerSecond).toBeGreaterThan(0);
  await store.disarm();
});
