import { stat } from "node:fs/promises";
import { expect } from "vitest";
import { manifest as manifestSchema } from "#protocol/checkpoint/checkpoint.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { runName } from "#protocol/base/names.ts";
import { systemClock } from "../base/clock.ts";
import type { Capture } from "../capture/capture.ts";
import { uploaderTest as test } from "../testing/uploader-trial.ts";

test("a capture becomes safe: announced, every part sent, a manifest that the protocol accepts committed, and its copy removed", async ({
  trial: { ledger, capture, work, ended, news },
}) => {
  const taken = await capture(100);
  let committed: unknown = null;
  const { hub, done } = await work(
    { commit: (input: { manifest: unknown }) => ((committed = input.manifest), { sha256: "" }) },
    ended(1),
  );
  await done;
  expect(hub.asked).toEqual(["claimEpoch", "announce", "commit"]);
  const manifest = manifestSchema.parse(committed);
  expect(manifest).toMatchObject({
    id: taken.id,
    writerEpoch: 3,
    step: 100,
    homes: [{ bucket: "trial", prefix: "team/" }],
  });
  const model = manifest.files.find(({ path }) => path === "model.bin");
  expect(model?.extents).toHaveLength(3);
  expect(model?.extents[0]?.key).toBe(`team/runs/llama/e000003/${taken.attempt}/model.bin`);
  expect(ledger.safe("llama")?.step).toBe(100);
  const measured = { engine: "tidemark", sentBytes: 11_000_000, partBytes: expect.any(Number) };
  expect(news()).toMatchObject([{ type: "transfer-ended", state: "done", step: 100, sentBytes: 11_000_000, measured }]);
  await expect(stat(taken.folder)).rejects.toMatchObject({ code: "ENOENT" });
});

test("bytes go on without the hub, and the commit waits until it is back", async ({
  trial: { ends, waits, capture, work, ended },
}) => {
  await capture(100);
  let refusals = 3;
  const commit = () => {
    if (refusals-- > 0) throw new Fault("HUB_UNREACHABLE");
    return { sha256: "" };
  };
  const { hub, done } = await work({ commit }, ended(1));
  await done;
  expect(hub.asked.filter((op) => op === "commit")).toHaveLength(4);
  expect(ends).toEqual([{ state: "done", step: 100 }]);
  expect(waits).toContain("HUB_UNREACHABLE");
});

test("a commit that waits for the hub does not hold up the next capture, and both become safe when it is back", async ({
  store,
  trial: { ends, capture, work, ended },
}) => {
  const first = await capture(100);
  const seen: { second: Capture | null } = { second: null };
  const isSent = async (one: Capture | null) =>
    one !== null && (await store.count("CompleteMultipartUpload")).some(({ key }) => key.includes(one.attempt));
  const commit = async () => {
    seen.second ??= await capture(200);
    if (!((await isSent(first)) && (await isSent(seen.second)))) throw new Fault("HUB_UNREACHABLE");
    return { sha256: "" };
  };
  const { uploader, done } = await work({ commit }, ended(2));
  while (seen.second === null) await systemClock.sleep(5);
  uploader.wake();
  await done;
  expect(ends.toSorted((a, b) => a.step - b.step)).toEqual([
    { state: "done", step: 100 },
    { state: "done", step: 200 },
  ]);
});

test("on a disk that is full when it becomes safe its copy goes first, and the news of it follows when there is room", async ({
  trial: { outbox, ledger, stop, ends, waits, capture, work, news },
}) => {
  const taken = await capture(100);
  const { add } = outbox;
  const disk = { isFull: true, refusals: 0 };
  outbox.add = async (event) => {
    if (!disk.isFull) return add(event);
    disk.refusals++;
    throw new Fault("NO_SPACE", { op: "journal" });
  };
  const { uploader, done } = await work({}, () => false);
  while (disk.refusals === 0) await systemClock.sleep(5);
  await expect(stat(taken.folder)).rejects.toMatchObject({ code: "ENOENT" });
  expect(ledger.get(taken.id)?.state).toBe("done");
  expect(news()).toEqual([]);
  disk.isFull = false;
  while (ledger.all().length > 0) {
    uploader.wake();
    await systemClock.sleep(5);
  }
  expect(news()).toMatchObject([{ type: "transfer-ended", state: "done", step: 100 }]);
  expect(ends).toEqual([{ state: "done", step: 100 }]);
  expect(waits).toEqual([]);
  stop().abort(new Fault("CANCELLED"));
  await done;
});

test("a disk that is full fails no upload: it goes on when there is room", async ({
  trial: { ends, waits, capture, work, ended },
}) => {
  await capture(100);
  let refusals = 0;
  const claimEpoch = () => {
    if (refusals++ < 2) throw new Fault("NO_SPACE", { op: "journal" });
    return { epoch: 3, parent: null, newest: null };
  };
  const { done } = await work({ claimEpoch }, ended(1));
  await done;
  expect(ends).toEqual([{ state: "done", step: 100 }]);
  expect(waits).toContain("NO_SPACE");
});

test("a commit that waits for the hub can be cancelled", async ({ trial: { ends, capture, work, ended } }) => {
  const taken = await capture(100);
  const commit = () => {
    throw new Fault("HUB_UNREACHABLE");
  };
  const { uploader, done } = await work({ commit }, ended(1));
  while (!uploader.uncommitted.has(taken.id)) await systemClock.sleep(5);
  await uploader.steer(taken.transferId, "cancel");
  await done;
  expect(ends).toEqual([{ state: "cancelled", step: 100 }]);
  expect(uploader.uncommitted.size).toBe(0);
});

test("while one is sent, the one that waits gets its upload and its signatures, and then needs no signer", async ({
  store,
  trial: { ends, capture, work, ended },
}) => {
  await capture(100);
  const slow = store.engine({ limit: 8_000_000, connections: 2 });
  const signed: string[] = [];
  const { prepare } = slow.signatures;
  slow.signatures.prepare = (operations) => {
    signed.push(...operations.map(({ op, key }) => `${op} ${key}`));
    return prepare(operations);
  };
  const { uploader, done } = await work({}, ended(2), slow);
  while ((uploader.active?.counters?.bytesDone ?? 0) === 0) await systemClock.sleep(5);
  const taken = await capture(200);
  uploader.wake();
  const ofSecond = () => signed.filter((text) => text.includes(taken.attempt)).map((text) => text.split(" ")[0]);
  while (ofSecond().length === 0) await systemClock.sleep(5);
  expect(uploader.active?.capture.step).toBe(100);
  expect(ofSecond()).toEqual(["part", "part", "part", "complete", "parts", "head"]);
  expect((await store.count("CreateMultipartUpload")).filter(({ key }) => key.includes(taken.attempt))).toHaveLength(1);
  await done;
  expect(ends).toEqual([
    { state: "done", step: 100 },
    { state: "done", step: 200 },
  ]);
  const creates = (await store.count("CreateMultipartUpload")).filter(({ key }) => key.includes(taken.attempt));
  expect(creates).toMatchObject([{ requests: 1 }]);
});

test("when the hub does not find what was sent, everything goes again under keys never used before", async ({
  store,
  trial: { ends, capture, work, ended },
}) => {
  await capture(100);
  const attempts: string[] = [];
  let isFirst = true;
  const commit = (input: { manifest: { attempt: string } }) => {
    attempts.push(input.manifest.attempt);
    if (isFirst) {
      isFirst = false;
      throw new Fault("NO_SUCH_KEY", { op: "commit" });
    }
    return { sha256: "" };
  };
  const { hub, done } = await work({ commit }, ended(1));
  await done;
  expect(ends).toEqual([{ state: "done", step: 100 }]);
  expect(attempts).toHaveLength(2);
  expect(attempts[1]).not.toBe(attempts[0]);
  expect(hub.asked.filter((op) => op === "announce")).toHaveLength(2);
  const parts = (await store.count("UploadPart")).filter(({ key }) => key.includes(attempts[1] ?? "none"));
  expect(parts).toHaveLength(3);
});

test("of three that wait only the newest is uploaded, and the others are reported as superseded", async ({
  trial: { ends, capture, work, ended },
}) => {
  for (const step of [100, 200, 300]) await capture(step);
  const { done } = await work({}, ended(3));
  await done;
  expect(ends).toEqual([
    { state: "superseded", step: 100 },
    { state: "superseded", step: 200 },
    { state: "done", step: 300 },
  ]);
});

test("one that was interrupted goes on although a newer one waits, and both become safe", async ({ store, trial }) => {
  const { stop, ends, capture, work, ended } = trial;
  const taken = await capture(100);
  const slow = store.engine({ limit: 8_000_000, connections: 1 });
  const first = await work({}, () => false, slow);
  while ((first.uploader.active?.counters?.bytesSure ?? 0) === 0) await systemClock.sleep(5);
  stop().abort(new Fault("CANCELLED"));
  await first.done;
  await trial.restart();
  await capture(200);
  await capture(300);
  const second = await work({}, ended(3));
  await second.done;
  expect(ends).toEqual([
    { state: "superseded", step: 200 },
    { state: "done", step: 100 },
    { state: "done", step: 300 },
  ]);
  const parts = (await store.count("UploadPart")).filter(({ key }) => key.includes(taken.attempt));
  expect(parts.filter(({ succeeded }) => succeeded !== 1)).toEqual([]);
});

test("a run that another node took over is not uploaded any more, and the hub hears why", async ({
  store,
  trial: { ledger, capture, work, ended, news },
}) => {
  await capture(100);
  const announce = () => {
    throw new Fault("EPOCH_OVER");
  };
  const { runs, done } = await work({ announce }, ended(1));
  await done;
  expect(runs.get("llama")?.over?.code).toBe("EPOCH_OVER");
  expect(news()).toMatchObject([{ state: "failed", fault: { code: "EPOCH_OVER" } }]);
  const puts = await store.count("UploadPart");
  expect(puts.filter(({ key }) => key.includes(ledger.get("x")?.attempt ?? "never"))).toEqual([]);
});

test("a capture of an earlier epoch is not sent in the one that this node claims", async ({
  trial: { capture, work, ended, news },
}) => {
  await capture(900, { epoch: 1 });
  const { hub, done } = await work({}, ended(1));
  await done;
  expect(news()).toMatchObject([{ state: "failed", step: 900, fault: { code: "EPOCH_OVER" } }]);
  expect(hub.asked).not.toContain("announce");
});

test("a refusal by the store fails the transfer but keeps the capture, and a new start tries it again", async ({
  store,
  trial: { ends, capture, work, ended },
}) => {
  const taken = await capture(100);
  await store.arm({ op: "CreateMultipartUpload", action: { kind: "error", status: 403, code: "AccessDenied" } });
  const first = await work({}, ended(1));
  await first.done;
  expect(ends).toEqual([{ state: "failed", step: 100 }]);
  expect((await stat(taken.folder)).isDirectory()).toBe(true);
  await store.disarm();

  const second = await work({}, ended(2));
  await second.done;
  expect(ends.at(-1)).toEqual({ state: "done", step: 100 });
});

test("what the store refused is tried again by itself once a person can have mended it", async ({
  store,
  trial: { ends, capture, work, advance },
}) => {
  await capture(100);
  await store.arm({ op: "CreateMultipartUpload", action: { kind: "error", status: 403, code: "AccessDenied" } });
  const { uploader, done } = await work({}, () => ends.at(-1)?.state === "done");
  await expect.poll(() => ends).toEqual([{ state: "failed", step: 100 }]);
  await store.disarm();
  uploader.wake();
  expect(ends).toHaveLength(1);
  advance(61_000);
  uploader.wake();
  await done;
  expect(ends).toEqual([
    { state: "failed", step: 100 },
    { state: "done", step: 100 },
  ]);
});

test("one that failed can be cancelled, or passed over to make room: then nothing is left of it", async ({
  store,
  trial: { ledger, stop, ends, capture, work, news },
}) => {
  const taken = [await capture(100), await capture(200, { run: runName.parse("whisper"), bytes: 6_000_000 })];
  await store.arm({ op: "CreateMultipartUpload", action: { kind: "error", status: 403, code: "AccessDenied" } });
  const { uploader, done } = await work({}, () => false);
  while (ends.length < 2 || ledger.all().some(({ state }) => state !== "failed")) await systemClock.sleep(5);
  await uploader.steer(taken[0]?.transferId ?? "", "cancel");
  await uploader.passOver(ledger.all());
  stop().abort(new Fault("CANCELLED"));
  await done;
  expect(ends.slice(2)).toEqual([
    { state: "cancelled", step: 100 },
    { state: "superseded", step: 200 },
  ]);
  expect(ledger.all()).toEqual([]);
  for (const { folder: left } of taken) await expect(stat(left)).rejects.toMatchObject({ code: "ENOENT" });
  expect(news().map((event) => "state" in event && event.state)).toEqual([
    "failed",
    "failed",
    "cancelled",
    "superseded",
  ]);
});

test("a capture of the line before a new one is sent as one of that line, also when the other waits too", async ({
  trial: { features, ends, capture, work, ended },
}) => {
  features.add("earlier-line");
  const before = await capture(200, { epoch: 2, bytes: 1_000 });
  await capture(50, { epoch: 3, bytes: 1_000 });
  const branch = { from: null, after: { epoch: 2, step: 200 }, step: 50 };
  const committed: unknown[] = [];
  const { done } = await work(
    {
      announce: ({ writerEpoch }: { writerEpoch: number }) => ({
        ok: true,
        ...(writerEpoch === 2 && { earlier: { parent: { epoch: 1, step: 90 }, next: branch } }),
      }),
      commit: ({ manifest }: { manifest: unknown }) => (committed.push(manifest), { sha256: "" }),
    },
    ended(2),
  );
  await done;
  expect(ends).toEqual([
    { state: "done", step: 50 },
    { state: "done", step: 200 },
  ]);
  const manifest = committed.map((one) => manifestSchema.parse(one)).find(({ step }) => step === 200);
  expect(manifest).toMatchObject({ writerEpoch: 2, parent: { epoch: 1, step: 90 } });
  const model = manifest?.files.find(({ path }) => path === "model.bin");
  expect(model?.extents[0]?.key).toContain(`/e000002/${before.attempt}/`);
});

test("the newest of a line that is given up for want of room ends with its size and the reason", async ({
  trial: { ledger, stop, capture, work, news },
}) => {
  const { uploader, runs, done } = await work({}, () => false);
  // Nothing is sent any more, so that the capture waits.
  stop().abort(new Fault("CANCELLED"));
  await done;
  await runs.epochOf("llama");
  await capture(210, { epoch: 2, bytes: 1_000 });
  await uploader.passOver(ledger.all().filter(({ state }) => state === "waiting"));
  const ended = news().findLast((event) => event.type === "transfer-ended");
  expect(ended).toMatchObject({
    state: "superseded",
    step: 210,
    fault: { code: "DISK_BUDGET", detail: expect.stringMatching(/no room for 1\.0 KiB beside that line/) },
  });
});
