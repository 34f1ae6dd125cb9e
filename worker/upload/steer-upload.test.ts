import { expect } from "vitest";
import { Fault } from "#protocol/faults/fault.ts";
import { runName } from "#protocol/base/names.ts";
import { systemClock } from "../base/clock.ts";
import { uploaderTest as test } from "../testing/uploader-trial.ts";

test("cancelled by a person it stops, tells the hub, and leaves no copy and no unfinished upload", async ({
  store,
  trial: { ledger, stop, ends, capture, work },
}) => {
  const taken = await capture(100);
  const slow = store.engine({ limit: 2_000_000, connections: 1 });
  // Not stopped by its end: the store is told after it.
  const { uploader, done } = await work({}, () => false, slow);
  while ((uploader.active?.counters?.bytesDone ?? 0) === 0) await systemClock.sleep(5);
  await uploader.steer(taken.transferId, "cancel");
  stop().abort(new Fault("CANCELLED"));
  await done;
  expect(ends).toEqual([{ state: "cancelled", step: 100 }]);
  expect(ledger.all()).toEqual([]);
  const aborted = (await store.count("AbortMultipartUpload")).filter(({ key }) => key.includes(taken.attempt));
  expect(aborted).toMatchObject([{ succeeded: 1 }]);
});

test("paused it keeps its place and what was sent, and goes on when resumed", async ({
  store,
  trial: { ledger, ends, capture, work, ended },
}) => {
  const taken = await capture(100);
  const slow = store.engine({ limit: 8_000_000, connections: 1 });
  const { uploader, done } = await work({}, ended(1), slow);
  while ((uploader.active?.counters?.bytesSure ?? 0) === 0) await systemClock.sleep(5);
  await uploader.steer(taken.transferId, "pause");
  while (uploader.active !== null) await systemClock.sleep(5);
  expect(ledger.get(taken.id)?.state).toBe("paused");
  await uploader.steer(taken.transferId, "resume");
  await done;
  expect(ends).toEqual([{ state: "done", step: 100 }]);
  const parts = (await store.count("UploadPart")).filter(({ key }) => key.includes(taken.attempt));
  expect(parts.filter(({ succeeded }) => succeeded !== 1)).toEqual([]);
});

test("a request that an upload under way cannot follow, or follows already, does not stop it", async ({
  store,
  trial: { ends, capture, work, ended },
}) => {
  const taken = await capture(100);
  const slow = store.engine({ limit: 8_000_000, connections: 1 });
  const { uploader, done } = await work({}, ended(1), slow);
  while ((uploader.active?.counters?.bytesDone ?? 0) === 0) await systemClock.sleep(5);
  const before = uploader.active?.counters;
  await Promise.all([uploader.steer(taken.transferId, "resume"), uploader.steer(taken.transferId, "retry")]);
  expect(uploader.active?.counters).toBe(before);
  await done;
  expect(ends).toEqual([{ state: "done", step: 100 }]);
});

test("the same request from two sides is fulfilled once, and one that comes too late is refused", async ({
  store,
  trial: { ledger, stop, ends, capture, work },
}) => {
  const taken = await capture(100);
  const slow = store.engine({ limit: 4_000_000, connections: 1 });
  const { uploader, done } = await work({}, () => false, slow);
  const steer = (...actions: ("cancel" | "pause" | "resume" | "retry")[]) =>
    Promise.all(actions.map((action) => uploader.steer(taken.transferId, action)));
  while ((uploader.active?.counters?.bytesDone ?? 0) === 0) await systemClock.sleep(5);
  await steer("pause", "pause");
  expect(ledger.get(taken.id)?.state).toBe("paused");
  await expect(steer("retry")).rejects.toMatchObject({ code: "CONFLICT" });
  expect(ledger.get(taken.id)?.state).toBe("paused");
  await steer("resume", "resume");
  while (uploader.active === null) await systemClock.sleep(5);
  const cancels = await Promise.allSettled([steer("cancel"), steer("cancel")]);
  expect(cancels.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
  expect(cancels[1]).toMatchObject({ reason: { code: "NOT_FOUND" } });
  stop().abort(new Fault("CANCELLED"));
  await done;
  expect(ends).toEqual([{ state: "cancelled", step: 100 }]);
});

test("with little time left the one that can be safe soonest goes first, and the other keeps what was sent", async ({
  store,
  trial: { run, ends, capture, work, ended },
}) => {
  await capture(100, { run, bytes: 22_000_000 });
  await capture(200, { run: runName.parse("whisper"), bytes: 300_000 });
  const slow = store.engine({ limit: 4_000_000, connections: 2 });
  const { uploader, done } = await work({}, ended(2), slow);
  while ((uploader.active?.counters?.bytesSure ?? 0) === 0) await systemClock.sleep(5);
  const draining = uploader.drain();
  while (ends.length === 0) await systemClock.sleep(5);
  expect(ends).toEqual([{ state: "done", step: 200 }]);
  slow.limiter.setRate(0);
  await Promise.all([done, draining]);
  expect(ends.map(({ step }) => step)).toEqual([200, 100]);
  const parts = await store.count("UploadPart");
  expect(parts.filter(({ succeeded }) => succeeded > 1)).toEqual([]);
});

test("what is nearly safe is not interrupted by something larger", async ({
  store,
  trial: { ends, capture, work, ended },
}) => {
  await capture(100);
  await capture(200, { run: runName.parse("whisper"), bytes: 30_000_000 });
  const slow = store.engine({ limit: 8_000_000, connections: 2 });
  const { uploader, done } = await work({}, ended(2), slow);
  while ((uploader.active?.counters?.bytesDone ?? 0) === 0) await systemClock.sleep(5);
  const draining = uploader.drain();
  slow.limiter.setRate(0);
  await Promise.all([done, draining]);
  expect(ends.map(({ step }) => step)).toEqual([100, 200]);
});

test("with little time left one that a newer, smaller one of its run overtakes is passed over when that is safe", async ({
  store,
  trial: { ends, capture, work, ended },
}) => {
  const large = await capture(100, { run: runName.parse("llama"), bytes: 22_000_000 });
  const slow = store.engine({ limit: 4_000_000, connections: 2 });
  const { uploader, done } = await work({}, ended(2), slow);
  while ((uploader.active?.counters?.bytesSure ?? 0) === 0) await systemClock.sleep(5);
  await capture(200, { run: runName.parse("llama"), bytes: 300_000 });
  await Promise.all([done, uploader.drain()]);
  expect(ends).toEqual([
    { state: "done", step: 200 },
    { state: "superseded", step: 100 },
  ]);
  const aborted = (await store.count("AbortMultipartUpload")).filter(({ key }) => key.includes(large.attempt));
  expect(aborted).toMatchObject([{ succeeded: 1 }]);
});
