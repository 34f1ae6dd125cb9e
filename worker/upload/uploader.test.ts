import { randomBytes } from "node:crypto";
import { mkdir, rm, writeFile, mkdtemp, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { manifest as manifestSchema } from "#protocol/checkpoint.ts";
import { Fault } from "#protocol/fault.ts";
import { runName } from "#protocol/names.ts";
import { DEFAULT_PACKING } from "#protocol/packing.ts";
import type { NodeEvent } from "#protocol/reports.ts";
import { systemClock } from "../engine/clock.ts";
import type { Engine } from "../engine/engine.ts";
import { openTrialStore, type TrialStore } from "../engine/trial-store.ts";
import { createFakeHub } from "../link/fake-hub.ts";
import { openOutbox, type Outbox } from "../link/outbox.ts";
import type { Capture } from "./capture.ts";
import { openLedger, type Ledger } from "./ledger.ts";
import { lookAt } from "./look.ts";
import { createRuns } from "./runs.ts";
import { takeSnapshot } from "./snapshot.ts";
import { createUploader } from "./uploader.ts";

const run = runName.parse("llama");
let store: TrialStore;
let folder: string;
let outbox: Outbox;
let ledger: Ledger;
let stop: AbortController;
let ends: { state: string; step: number }[];
let waits: string[];

beforeAll(async () => {
  store = await openTrialStore();
});
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-uploader-"));
  outbox = await openOutbox(join(folder, "outbox.jsonl"), Date.now);
  ledger = await openLedger(join(folder, "ledger.jsonl"), Date.now);
  stop = new AbortController();
  ends = [];
  waits = [];
});
afterEach(async () => {
  await store.disarm();
  await Promise.all([outbox.close(), ledger.close()]);
  await rm(folder, { recursive: true, force: true });
});
afterAll(() => store.close());

async function capture(step: number, about = { run, bytes: 11_000_000 }): Promise<Capture> {
  const path = join(folder, `checkpoint-${step}`);
  await mkdir(path);
  await writeFile(join(path, "model.bin"), randomBytes(about.bytes));
  await writeFile(join(path, "empty"), "");
  const look = await lookAt({ path, kind: "folder" });
  if (look === null) throw new Error("the checkpoint is gone");
  const taken = await takeSnapshot({
    candidate: { path, name: `checkpoint-${step}`, step, kind: "folder" },
    look,
    run: about.run,
    epoch: null,
    captures: join(folder, "captures"),
    traits: store.access.traits,
    partBytes: 5 * 1024 * 1024,
    packing: DEFAULT_PACKING,
    startedBy: "queue",
    wallNow: Date.now,
  });
  await ledger.add({ ...taken, capturedAt: step }, look.fingerprint);
  return taken;
}

/** Starts an uploader and resolves when `isOver` says so after an end or a wait. */
async function work(
  answers: Parameters<typeof createFakeHub>[0],
  isOver: () => boolean,
  engine: Engine = store.engine(),
) {
  const claim = { epoch: 3, parent: null, newest: null };
  const hub = createFakeHub({
    claimEpoch: () => claim,
    announce: () => ({ ok: true }),
    commit: () => ({ sha256: "" }),
    ...answers,
  });
  const runs = createRuns([run], { hub, onOver: () => undefined });
  const profile = { profileId: "profile-id-1", profileName: "p", bucket: "trial", prefix: "team/" };
  const bench = { engine, store: { ...profile, endpoint: store.access.endpoint, traits: store.access.traits } };
  const check = () => isOver() && stop.abort(new Fault("CANCELLED"));
  const uploader = createUploader({
    ledger,
    runs,
    hub,
    outbox,
    clock: systemClock,
    wallNow: Date.now,
    journals: join(folder, "uploads"),
    node: () => ({ id: "node-id-1", name: "gpu-1" }),
    bench: () => bench,
    signal: stop.signal,
    onEnd: ({ state, step }) => {
      ends.push({ state, step });
      // After the outbox has it.
      setTimeout(check, 50);
    },
    onSent: () => undefined,
    onWaiting: (fault) => {
      waits.push(fault.code);
      check();
    },
  });
  return { hub, runs, uploader, done: uploader.run() };
}

const ended = (count: number) => () => ends.length >= count;
const news = (): readonly NodeEvent[] => outbox.next();

test("a capture becomes safe: announced, every part sent, a manifest that the protocol accepts committed, and its copy removed", async () => {
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

test("bytes go on without the hub, and the commit waits until it is back", async () => {
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

test("a commit that waits for the hub does not hold up the next capture, and both become safe when it is back", async () => {
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

test("on a disk that is full when it becomes safe its copy goes first, and the news of it follows when there is room", async () => {
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
  stop.abort(new Fault("CANCELLED"));
  await done;
});

test("a disk that is full fails no upload: it goes on when there is room", async () => {
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

test("a commit that waits for the hub can be cancelled", async () => {
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

test("while one is sent, the one that waits gets its upload and its signatures, and then needs no signer", async () => {
  await capture(100);
  const slow = store.engine({ limit: 8_000_000, connections: 2 });
  const signed: string[] = [];
  const { prepare } = slow.signatures;
  slow.signatures.prepare = (operations) => {
    signed.push(...operations.map(({ op, key }) => `${op} ${key}`));
    return prepare(operations);
  };
  const { uploader, done } = await work({}, ended(2), slow);
  while ((uploader.active?.tally?.bytesDone ?? 0) === 0) await systemClock.sleep(5);
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

test("when the hub does not find what was sent, everything goes again under keys never used before", async () => {
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

test("of three that wait only the newest is uploaded, and the others are reported as superseded", async () => {
  for (const step of [100, 200, 300]) await capture(step);
  const { done } = await work({}, ended(3));
  await done;
  expect(ends).toEqual([
    { state: "superseded", step: 100 },
    { state: "superseded", step: 200 },
    { state: "done", step: 300 },
  ]);
});

test("a run that another node took over is not uploaded any more, and the hub hears why", async () => {
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

test("what an earlier life took before it knew its epoch is not taken for the epoch that this one claims", async () => {
  await ledger.noteEpoch(run, 1);
  await capture(900);
  const { hub, done } = await work({}, ended(1));
  await done;
  expect(news()).toMatchObject([{ state: "failed", step: 900, fault: { code: "EPOCH_OVER" } }]);
  expect(hub.asked).not.toContain("announce");
});

test("a refusal by the store fails the transfer but keeps the capture, and a new start tries it again", async () => {
  const taken = await capture(100);
  await store.arm({ op: "CreateMultipartUpload", action: { kind: "error", status: 403, code: "AccessDenied" } });
  const first = await work({}, ended(1));
  await first.done;
  expect(ends).toEqual([{ state: "failed", step: 100 }]);
  expect((await stat(taken.folder)).isDirectory()).toBe(true);
  await store.disarm();

  stop = new AbortController();
  const second = await work({}, ended(2));
  await second.done;
  expect(ends.at(-1)).toEqual({ state: "done", step: 100 });
});

test("one that failed can be cancelled, or passed over to make room: then nothing is left of it", async () => {
  const taken = [await capture(100), await capture(200, { run: runName.parse("whisper"), bytes: 6_000_000 })];
  await store.arm({ op: "CreateMultipartUpload", action: { kind: "error", status: 403, code: "AccessDenied" } });
  const { uploader, done } = await work({}, () => false);
  while (ends.length < 2 || ledger.all().some(({ state }) => state !== "failed")) await systemClock.sleep(5);
  await uploader.steer(taken[0]?.transferId ?? "", "cancel");
  await uploader.passOver(ledger.all());
  stop.abort(new Fault("CANCELLED"));
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

test("cancelled by a person it stops, tells the hub, and leaves no copy and no unfinished upload", async () => {
  const taken = await capture(100);
  const slow = store.engine({ limit: 2_000_000, connections: 1 });
  // Not stopped by its end: the store is told after it.
  const { uploader, done } = await work({}, () => false, slow);
  while ((uploader.active?.tally?.bytesDone ?? 0) === 0) await systemClock.sleep(5);
  await uploader.steer(taken.transferId, "cancel");
  stop.abort(new Fault("CANCELLED"));
  await done;
  expect(ends).toEqual([{ state: "cancelled", step: 100 }]);
  expect(ledger.all()).toEqual([]);
  const aborted = (await store.count("AbortMultipartUpload")).filter(({ key }) => key.includes(taken.attempt));
  expect(aborted).toMatchObject([{ succeeded: 1 }]);
});

test("paused it keeps its place and what was sent, and goes on when resumed", async () => {
  const taken = await capture(100);
  const slow = store.engine({ limit: 8_000_000, connections: 1 });
  const { uploader, done } = await work({}, ended(1), slow);
  while ((uploader.active?.tally?.bytesSure ?? 0) === 0) await systemClock.sleep(5);
  await uploader.steer(taken.transferId, "pause");
  while (uploader.active !== null) await systemClock.sleep(5);
  expect(ledger.get(taken.id)?.state).toBe("paused");
  await uploader.steer(taken.transferId, "resume");
  await done;
  expect(ends).toEqual([{ state: "done", step: 100 }]);
  const parts = (await store.count("UploadPart")).filter(({ key }) => key.includes(taken.attempt));
  expect(parts.filter(({ succeeded }) => succeeded !== 1)).toEqual([]);
});

test("a wish that an upload under way cannot follow, or follows already, does not stop it", async () => {
  const taken = await capture(100);
  const slow = store.engine({ limit: 8_000_000, connections: 1 });
  const { uploader, done } = await work({}, ended(1), slow);
  while ((uploader.active?.tally?.bytesDone ?? 0) === 0) await systemClock.sleep(5);
  const before = uploader.active?.tally;
  await Promise.all([uploader.steer(taken.transferId, "resume"), uploader.steer(taken.transferId, "retry")]);
  expect(uploader.active?.tally).toBe(before);
  await done;
  expect(ends).toEqual([{ state: "done", step: 100 }]);
});

test("the same wish from two sides is fulfilled once, and one that comes too late is refused", async () => {
  const taken = await capture(100);
  const slow = store.engine({ limit: 4_000_000, connections: 1 });
  const { uploader, done } = await work({}, () => false, slow);
  const steer = (...wishes: ("cancel" | "pause" | "resume" | "retry")[]) =>
    Promise.all(wishes.map((wish) => uploader.steer(taken.transferId, wish)));
  while ((uploader.active?.tally?.bytesDone ?? 0) === 0) await systemClock.sleep(5);
  await steer("pause", "pause");
  expect(ledger.get(taken.id)?.state).toBe("paused");
  await expect(steer("retry")).rejects.toMatchObject({ code: "CONFLICT" });
  expect(ledger.get(taken.id)?.state).toBe("paused");
  await steer("resume", "resume");
  while (uploader.active === null) await systemClock.sleep(5);
  const cancels = await Promise.allSettled([steer("cancel"), steer("cancel")]);
  expect(cancels.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
  expect(cancels[1]).toMatchObject({ reason: { code: "NOT_FOUND" } });
  stop.abort(new Fault("CANCELLED"));
  await done;
  expect(ends).toEqual([{ state: "cancelled", step: 100 }]);
});

test("with little time left the one that can be safe soonest goes first, and the other keeps what was sent", async () => {
  await capture(100, { run, bytes: 22_000_000 });
  await capture(200, { run: runName.parse("whisper"), bytes: 300_000 });
  const slow = store.engine({ limit: 4_000_000, connections: 2 });
  const { uploader, done } = await work({}, ended(2), slow);
  while ((uploader.active?.tally?.bytesSure ?? 0) === 0) await systemClock.sleep(5);
  const draining = uploader.drain();
  while (ends.length === 0) await systemClock.sleep(5);
  expect(ends).toEqual([{ state: "done", step: 200 }]);
  slow.limiter.setRate(0);
  await Promise.all([done, draining]);
  expect(ends.map(({ step }) => step)).toEqual([200, 100]);
  const parts = await store.count("UploadPart");
  expect(parts.filter(({ succeeded }) => succeeded > 1)).toEqual([]);
});

test("what is nearly safe is not interrupted by something larger", async () => {
  await capture(100);
  await capture(200, { run: runName.parse("whisper"), bytes: 30_000_000 });
  const slow = store.engine({ limit: 8_000_000, connections: 2 });
  const { uploader, done } = await work({}, ended(2), slow);
  while ((uploader.active?.tally?.bytesDone ?? 0) === 0) await systemClock.sleep(5);
  const draining = uploader.drain();
  slow.limiter.setRate(0);
  await Promise.all([done, draining]);
  expect(ends.map(({ step }) => step)).toEqual([100, 200]);
});
