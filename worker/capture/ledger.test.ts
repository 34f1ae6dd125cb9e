import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import * as z from "zod";
import { Fault } from "#protocol/faults/fault.ts";
import { crc32Hex } from "#protocol/checkpoint/checkpoint.ts";
import { attemptId, filePath, runName } from "#protocol/base/names.ts";
import { checkpointPlace } from "#protocol/checkpoint/place.ts";
import { openJournal } from "../base/journal.ts";
import type { Capture } from "./capture.ts";
import { contentOf } from "./ledger-books.ts";
import { EVERY_RUN, nextToUpload, openLedger, supersededBy, readLedger, supersededAmong } from "./ledger.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-ledger-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));
const open = () => openLedger(join(folder, "ledger.jsonl"), () => 1_000);

const idsOf = (captures: readonly Capture[]): string[] => captures.map(({ id }) => id);

const captureOf = (step: number, change: Partial<Capture> = {}): Capture => ({
  id: `checkpoint-${step}`,
  transferId: `transfer-${step}`,
  attempt: attemptId.parse("abcdefabcdef"),
  run: runName.parse("llama"),
  step,
  epoch: 1,
  framework: null,
  metrics: {},
  capturedAt: step,
  sourcePath: `/train/checkpoint-${step}`,
  folder: join(folder, String(step)),
  sizeBytes: 10,
  files: [],
  state: "waiting",
  announced: false,
  priority: 0,
  startedBy: "queue",
  startedAt: null,
  retries: 0,
  sentBytes: 0,
  fault: null,
  ...change,
});

test("a capture is known and in the queue together, or neither: no kill can leave one without the other", async () => {
  const ledger = await open();
  await ledger.add(captureOf(1), "print");
  await ledger.close();
  const path = join(folder, "ledger.jsonl");
  const whole = await readFile(path);
  for (let bytes = whole.length; bytes >= 0; bytes -= 7) {
    await writeFile(path, whole.subarray(0, bytes));
    const after = await openLedger(path, () => 1_000);
    expect(after.knows("/train/checkpoint-1", "print")).toBe(after.get("checkpoint-1") !== undefined);
    expect(after.knows("/train/checkpoint-1", "print")).toBe(bytes === whole.length);
    await after.close();
  }
});

test("a capture under way when the process died waits again, with everything it knew", async () => {
  const before = await open();
  await before.add(captureOf(100), "print");
  await before.update("checkpoint-100", { announced: true, epoch: 3 });
  await before.move("checkpoint-100", "running", { by: "node", at: 5 });
  // No close: the process is gone.
  const after = await open();
  expect(after.all()).toMatchObject([
    { id: "checkpoint-100", state: "waiting", epoch: 3, announced: true, startedAt: 5 },
  ]);
  expect(after.knows("/train/checkpoint-100", "print")).toBe(true);
  await before.close();
  await after.close();
});

test("a capture whose epoch was not known belongs to the epoch of its process, however often the run is claimed later", async () => {
  const first = await open();
  await first.noteEpoch("llama", 1);
  await first.add(captureOf(900, { epoch: null }), "print");
  const second = await open();
  await second.noteEpoch("llama", 3);
  // Neither process had time to send it.
  const third = await open();
  expect(third.all()).toMatchObject([{ epoch: 1 }]);
  await Promise.all([first, second, third].map((ledger) => ledger.close()));
});

test("a capture of a run that was never claimed belongs to the epoch that is claimed next", async () => {
  const first = await open();
  await first.add(captureOf(900, { epoch: null }), "print");
  const second = await open();
  expect(second.all()).toMatchObject([{ epoch: null }]);
  await Promise.all([first.close(), second.close()]);
});

test("only moves of the table are made", async () => {
  const ledger = await open();
  await ledger.add(captureOf(100), "print");
  await expect(ledger.move("checkpoint-100", "done", { by: "node", at: 1 })).rejects.toMatchObject({
    code: "INTERNAL",
  });
  await ledger.move("checkpoint-100", "running", { by: "node", at: 1 });
  await expect(ledger.move("checkpoint-100", "superseded", { by: "policy", at: 1 })).rejects.toThrow(
    "policy may not move",
  );
  expect(ledger.get("checkpoint-100")?.state).toBe("running");
  await ledger.close();
});

test("what was safe stays known after the capture is dropped", async () => {
  const before = await open();
  await before.add(captureOf(100), "print");
  await before.move("checkpoint-100", "running", { by: "node", at: 1 });
  await before.move("checkpoint-100", "done", { by: "node", at: 2 });
  await before.drop("checkpoint-100");
  await before.close();
  const after = await open();
  expect(after.all()).toEqual([]);
  expect(after.safe("llama")).toMatchObject({ step: 100, at: 100, sizeBytes: 10 });
  expect(after.knows("/train/checkpoint-100", "print")).toBe(true);
  expect(after.knows("/train/checkpoint-100", "written again")).toBe(false);
  await after.close();
});

test("the origin of a safe step and where the epoch branches off stay known", async () => {
  const branch = { from: null, after: { epoch: 1, step: 300 }, step: 100 };
  const place = { path: filePath.parse("ckpt.pt"), kind: "file" as const, stepFrom: "time" as const };
  const before = await open();
  await before.noteEpoch("llama", 2, branch);
  await before.add(captureOf(100, { place: { ...place, stepSource: "time" } }), "print");
  await before.move("checkpoint-100", "running", { by: "node", at: 1 });
  await before.move("checkpoint-100", "done", { by: "node", at: 2 });
  await before.close();
  const after = await open();
  expect(after.safe("llama")).toMatchObject({ step: 100, source: "time" });
  await after.close();
  expect((await readLedger(join(folder, "ledger.jsonl"))).branches).toEqual(new Map([["llama", branch]]));
  const later = await open();
  await later.noteEpoch("llama", 3);
  await later.close();
  expect((await readLedger(join(folder, "ledger.jsonl"))).branches).toEqual(new Map());
});

test("exactly the content that became safe is known to be in the bucket, also after the capture is dropped", async () => {
  const before = await open();
  await before.add(captureOf(100, { fingerprint: "print" }), "print");
  expect(before.storedAs("/train/checkpoint-100", "print")).toBeNull();
  await before.move("checkpoint-100", "running", { by: "node", at: 1 });
  await before.move("checkpoint-100", "done", { by: "node", at: 2 });
  await before.drop("checkpoint-100");
  await before.noteStored("/train/restored", { fingerprint: "of the bucket", checkpointId: "restored-id" });
  await before.close();
  const after = await open();
  expect(after.storedAs("/train/checkpoint-100", "print")).toBe("checkpoint-100");
  expect(after.storedAs("/train/checkpoint-100", "written again")).toBeNull();
  expect(after.storedAs("/train/restored", "of the bucket")).toBe("restored-id");
  await after.close();
});

test("what an older worker noted as stored is of no known checkpoint", async () => {
  const journal = await openJournal(join(folder, "ledger.jsonl"), z.unknown());
  await journal.append({ t: "stored", path: "/train/checkpoint-100", fingerprint: "print" });
  await journal.close();
  const ledger = await open();
  expect(ledger.storedAs("/train/checkpoint-100", "print")).toBeNull();
  await ledger.noteStored("/train/checkpoint-100", { fingerprint: "print", checkpointId: "id" });
  expect(ledger.storedAs("/train/checkpoint-100", "print")).toBe("id");
  await ledger.close();
});

test("of what is doubtful a name may have been left out: it is not known to be in the bucket", async () => {
  const ledger = await open();
  await ledger.add(captureOf(100, { fingerprint: "print", doubt: "1 name cannot be kept" }), "print");
  await ledger.move("checkpoint-100", "running", { by: "node", at: 1 });
  await ledger.move("checkpoint-100", "done", { by: "node", at: 2 });
  expect(ledger.storedAs("/train/checkpoint-100", "print")).toBeNull();
  await ledger.close();
});

test("the pointer that was captured with what became safe is known by its bytes, and no settings or links are", async () => {
  const beside = [
    { path: "latest", file: ".tidemark-beside/latest" },
    { path: "config.yaml", file: ".tidemark-beside/config.yaml" },
    { path: "latest_checkpoint.txt", link: "checkpoint-100" },
  ];
  const place = checkpointPlace.parse({ path: "runs/checkpoint-100", kind: "folder", beside });
  const identity = { dev: "1", ino: "2", sizeBytes: 14, mtimeNs: "3" };
  const files = ["latest", "config.yaml"].map((name) => ({
    path: filePath.parse(`.tidemark-beside/${name}`),
    sizeBytes: 14,
    mtimeMs: 1,
    at: "/state/x",
    identity,
    partBytes: 100,
    sums: [crc32Hex.parse("0a0b0c0d")],
  }));
  const ledger = await open();
  const sourcePath = "/train/runs/checkpoint-100";
  await ledger.add(captureOf(100, { fingerprint: "print", sourcePath, place, files }), "print");
  const content = contentOf("0a0b0c0d", 14);
  expect(ledger.storedAs("/train/latest", content)).toBeNull();
  await ledger.move("checkpoint-100", "running", { by: "node", at: 1 });
  await ledger.move("checkpoint-100", "done", { by: "node", at: 2 });
  const stored = ["latest", "config.yaml", "latest_checkpoint.txt"].filter(
    (name) => ledger.storedAs(`/train/${name}`, content) === "checkpoint-100",
  );
  expect(stored).toEqual(["latest"]);
  await ledger.close();
});

test("the newest safe one is that of the highest epoch, then of the highest step, as for the hub", async () => {
  const ledger = await open();
  const makeSafe = async (step: number, epoch: number) => {
    const item = captureOf(step, { epoch, id: `e${epoch}-${step}` });
    await ledger.add(item, `${epoch}-${step}`);
    await ledger.move(item.id, "running", { by: "node", at: 1 });
    await ledger.move(item.id, "done", { by: "node", at: 2 });
  };
  await makeSafe(2026, 1);
  // Written later, and of a lower step: the hub hands out step 2026 as well.
  await makeSafe(40, 1);
  expect(ledger.safe("llama")).toMatchObject({ step: 2026, epoch: 1 });
  await makeSafe(30, 2);
  expect(ledger.safe("llama")).toMatchObject({ step: 30, epoch: 2 });
  await ledger.close();
});

test("the piece of one node is no safe point; it waits, in its epoch, until a whole step that is as new is noted", async () => {
  const path = join(folder, "ledger.jsonl");
  let ledger = await open();
  const keep = async (step: number, epoch: number) => {
    const item = captureOf(step, { epoch, piece: { rank: 0, of: 2 } });
    await ledger.add(item, `print ${step}`);
    await ledger.noteEpoch("llama", epoch);
    for (const to of ["running", "done"] as const) await ledger.move(item.id, to, { by: "node", at: 5 });
    await ledger.drop(item.id);
  };
  const known = () => [ledger.safe("llama")?.step ?? null, ledger.piece("llama")?.step ?? null];
  await keep(10, 1);
  expect(known()).toEqual([null, 10]);
  // Twice: the second start reads what the first has compacted.
  for (let starts = 0; starts < 2; starts++) {
    await ledger.close();
    ledger = await openLedger(path, () => 1_000);
    expect(known()).toEqual([null, 10]);
  }
  await ledger.noteSafe("llama", { step: 9, at: 9, sizeBytes: 1, epoch: 1 });
  expect(known()).toEqual([9, 10]);
  await ledger.noteSafe("llama", { step: 10, at: 10, sizeBytes: 1, epoch: 1 });
  expect(known()).toEqual([10, null]);
  await keep(20, 1);
  await ledger.noteEpoch("llama", 2);
  expect(known()).toEqual([10, null]);
  await keep(15, 2);
  expect(known()).toEqual([10, 15]);
  await ledger.close();
});

test("a doubt that comes after the capture is noted for its path, until the path is captured again", async () => {
  const path = join(folder, "ledger.jsonl");
  let ledger = await open();
  const early = captureOf(10);
  await ledger.add(early, "print 10");
  expect(ledger.isUnfinished(early.sourcePath)).toBe(false);
  await ledger.update(early.id, { doubt: "its optimizer is missing" });
  await ledger.close();
  ledger = await openLedger(path, () => 1_000);
  expect(ledger.isUnfinished(early.sourcePath)).toBe(true);
  const late = captureOf(10, { id: "checkpoint-10-late" });
  await ledger.add(late, "print 10, whole");
  await ledger.update(early.id, { doubt: "its optimizer is missing" });
  expect(ledger.isUnfinished(early.sourcePath)).toBe(false);
  await ledger.close();
});

test("the interval is the time between the last two captures", async () => {
  const ledger = await open();
  await ledger.add(captureOf(100, { capturedAt: 10_000 }), "a");
  expect(ledger.intervalMs("llama")).toBeNull();
  await ledger.add(captureOf(200, { capturedAt: 70_000 }), "b");
  expect(ledger.intervalMs("llama")).toBe(60_000);
  await ledger.close();
});

test("latest wins among those that wait; the one under way, a single one and other runs are left alone", () => {
  const running = captureOf(100, { state: "running" });
  const waiting = [captureOf(200), captureOf(300), captureOf(400)];
  const other = captureOf(50, { run: runName.parse("other") });
  expect(supersededAmong([running, ...waiting, other]).map(({ step }) => step)).toEqual([200, 300]);
  expect(supersededAmong([running, captureOf(200)])).toEqual([]);
  expect(nextToUpload([captureOf(400), other])?.step).toBe(50);
});

test("one that was interrupted counts as under way; of several the newest does", () => {
  const begun = (step: number) => captureOf(step, { startedAt: 1 });
  const stepsOf = (...captures: Capture[]) => supersededAmong(captures).map(({ step }) => step);
  expect(stepsOf(begun(100), captureOf(200), captureOf(300))).toEqual([200]);
  expect(stepsOf(begun(100), begun(200), captureOf(300))).toEqual([100]);
  expect(stepsOf(begun(100), begun(200))).toEqual([100]);
});

test("what has a higher priority goes first, the older of two of the same", () => {
  const waiting = [
    captureOf(1),
    captureOf(2, { priority: 1 }),
    captureOf(3, { priority: 1 }),
    captureOf(0, { priority: -1 }),
  ];
  expect(nextToUpload(waiting)?.step).toBe(2);
});

test("what a person holds is held after a restart too, run by run or all of them, until it is let go", async () => {
  const before = await open();
  await before.hold("llama", true);
  await before.hold(EVERY_RUN, true);
  await before.close();
  const after = await open();
  expect([after.isHeld("llama"), after.isHeld("whisper")]).toEqual([true, true]);
  await after.hold(EVERY_RUN, false);
  expect([after.isHeld("llama"), after.isHeld("whisper")]).toEqual([true, false]);
  await after.hold("llama", false);
  await after.close();
  const last = await open();
  expect(last.isHeld("llama")).toBe(false);
  await last.close();
});

test("on a full disk a move is made all the same, and is on disk with the next line that is", async () => {
  const path = join(folder, "ledger.jsonl");
  let isFull = false;
  const openFull: typeof openJournal = async (at, schema) => {
    const journal = await openJournal(at, schema);
    const append: typeof journal.append = (record) =>
      isFull ? Promise.reject(new Fault("NO_SPACE")) : journal.append(record);
    return { ...journal, append };
  };
  const ledger = await openLedger(path, () => 1_000, openFull);
  await ledger.add(captureOf(100), "print");
  isFull = true;
  await ledger.move("checkpoint-100", "running", { by: "node", at: 1 });
  await ledger.move("checkpoint-100", "done", { by: "node", at: 2 });
  await expect(ledger.update("checkpoint-100", { sentBytes: 10 })).rejects.toMatchObject({ code: "NO_SPACE" });
  await expect(ledger.add(captureOf(200), "other")).rejects.toMatchObject({ code: "NO_SPACE" });
  expect(ledger.all()).toMatchObject([{ state: "done", sentBytes: 10 }]);
  expect((await readLedger(join(folder, "ledger.jsonl"))).captures).toMatchObject([{ state: "waiting" }]);
  isFull = false;
  await ledger.noteEpoch("llama", 4);
  expect((await readLedger(join(folder, "ledger.jsonl"))).captures).toMatchObject([
    { step: 100, state: "done", sentBytes: 10 },
  ]);
  await ledger.close();
});

test("a ledger that nobody holds is read without being changed, and one that is not there is empty", async () => {
  const ledger = await open();
  await ledger.add(captureOf(5), "print");
  await ledger.close();
  const path = join(folder, "ledger.jsonl");
  const bytes = await readFile(path);
  expect((await readLedger(join(folder, "ledger.jsonl"))).captures.map(({ step }) => step)).toEqual([5]);
  expect(await readFile(path)).toEqual(bytes);
  expect((await readLedger(join(folder, "none.jsonl"))).captures).toEqual([]);
});

test("a final model and a checkpoint of one run never take each other's place", () => {
  const final = (step: number) => captureOf(step, { id: `final-${step}`, role: "final-model" });
  expect(supersededAmong([captureOf(60), final(60)])).toEqual([]);
  expect(idsOf(supersededAmong([captureOf(50), captureOf(60), final(50), final(60)]))).toEqual([
    "checkpoint-50",
    "final-50",
  ]);
  expect(idsOf(supersededBy({ ...final(60), state: "done" }, [captureOf(50), final(50)]))).toEqual(["final-50"]);
});

test("a final model that is safe is no step to go on from", async () => {
  const ledger = await open();
  await ledger.add(captureOf(60, { role: "final-model" }), "print");
  await ledger.move("checkpoint-60", "running", { by: "node", at: 1 });
  await ledger.move("checkpoint-60", "done", { by: "node", at: 2 });
  expect(ledger.safe("llama")).toBeNull();
  expect(ledger.intervalMs("llama")).toBeNull();
  await ledger.close();
});

test("of two lines of training each keeps its newest that waits, however high the other counts", () => {
  const before = [90, 100].map((step) => captureOf(step, { epoch: 2 }));
  const now = [10, 20].map((step) => captureOf(step, { epoch: 3 }));
  for (const all of [
    [...before, ...now],
    [...now, ...before],
  ]) {
    expect(idsOf(supersededAmong(all)).toSorted()).toEqual(["checkpoint-10", "checkpoint-90"]);
    expect(idsOf(supersededBy(captureOf(30, { epoch: 3, state: "done" }), all))).toEqual(idsOf(now));
    expect(idsOf(supersededBy(captureOf(110, { epoch: 2, state: "done" }), all))).toEqual(idsOf(before));
  }
});

test("a line that was not opened yet keeps its newest, and its captures have no epoch until it is, also after a restart", async () => {
  const newLine = { id: "11111111-2222-4333-8444-555555555555", from: null, after: { epoch: 2, step: 100 }, step: 10 };
  let ledger = await open();
  for (const step of [90, 100]) await ledger.add(captureOf(step, { epoch: 2 }), `print ${step}`);
  for (const step of [10, 20]) await ledger.add(captureOf(step, { epoch: null, newLine }), `print ${step}`);
  await ledger.noteEpoch("llama", 2);
  expect(idsOf(supersededAmong(ledger.all())).toSorted()).toEqual(["checkpoint-10", "checkpoint-90"]);
  await ledger.close();
  ledger = await open();
  expect(ledger.get("checkpoint-20")).toMatchObject({ epoch: null, newLine });
  await ledger.update("checkpoint-20", { epoch: 3, newLine: null });
  await ledger.close();
  ledger = await open();
  expect(ledger.get("checkpoint-20")).toMatchObject({ epoch: 3, newLine: null });
  await ledger.close();
});

test("the highest step of an epoch is known after a restart, when its captures have ended; times of writing are kept apart", async () => {
  let ledger = await open();
  const save = async (step: number, change: Partial<Capture> = {}) => {
    const item = captureOf(step, change);
    await ledger.add(item, `print ${step}`);
    await ledger.drop(item.id);
  };
  const stepsOf = (epoch: number, root = 0) => ledger.reached({ run: "llama", root, epoch }).map(({ step }) => step);
  const byTime = { path: filePath.parse("last.pt"), kind: "file", stepFrom: "time" } as const;
  await save(200);
  await save(150);
  await save(1_764_500_000, { place: byTime });
  await save(300, { role: "final-model" });
  const unknown = captureOf(220, { epoch: null });
  await ledger.add(unknown, "print 220");
  // Twice: the second start reads what the first has compacted.
  for (let starts = 0; starts < 2; starts++) {
    expect(stepsOf(1)).toEqual([200, 1_764_500_000]);
    await ledger.close();
    ledger = await open();
  }
  await ledger.noteEpoch("llama", 1);
  expect(ledger.get(unknown.id)?.epoch).toBe(1);
  expect(stepsOf(1)).toEqual([220, 1_764_500_000]);
  await save(10, { epoch: 2 });
  expect([stepsOf(1), stepsOf(2), stepsOf(2, 1)]).toEqual([[1_764_500_000], [10], []]);
  await ledger.close();
});

test("a safe step that turns out to be half is none any more, the one before it is, and the doubt waits to be told", async () => {
  let ledger = await open();
  const makeSafe = async (step: number) => {
    const item = captureOf(step);
    await ledger.add(item, `print ${step}`);
    for (const to of ["running", "done"] as const) await ledger.move(item.id, to, { by: "node", at: 5 });
    await ledger.drop(item.id);
  };
  await makeSafe(10);
  await makeSafe(20);
  await ledger.close();
  ledger = await open();
  await ledger.oweDoubt({ run: "llama", checkpointId: "checkpoint-20", why: "optim_20.pt is missing" });
  const known = () => [ledger.safe("llama")?.step ?? null, [...ledger.owedDoubts()]];
  // The last start reads what the one before has compacted.
  for (let starts = 0; starts < 3; starts++) {
    expect(known()).toEqual([10, [["checkpoint-20", "optim_20.pt is missing"]]]);
    await ledger.close();
    ledger = await open();
  }
  await ledger.settleDoubt("checkpoint-20");
  await ledger.oweDoubt({ run: "llama", checkpointId: "checkpoint-10", why: "optim_10.pt is missing" });
  await ledger.settleDoubt("checkpoint-10");
  await ledger.close();
  ledger = await open();
  expect(known()).toEqual([null, []]);
  await ledger.close();
});

test("checkpoints in several watched folders of a run never take each other's place", () => {
  const inRoot = (step: number, index: number) =>
    captureOf(step, {
      id: `${index}-${step}`,
      place: { path: filePath.parse(`checkpoint-${step}`), kind: "folder", root: { index, name: "w" } },
    });
  const all = [inRoot(100, 0), inRoot(200, 0), inRoot(100, 1), inRoot(150, 1)];
  expect(idsOf(supersededAmong(all))).toEqual(["0-100", "1-100"]);
  expect(idsOf(supersededBy(inRoot(300, 0), all))).toEqual(["0-100", "0-200"]);
});
