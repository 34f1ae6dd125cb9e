import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Fault } from "#protocol/faults/fault.ts";
import { runName } from "#protocol/base/names.ts";
import { DEFAULT_PACKING } from "#protocol/checkpoint/packing.ts";
import { traitsOf } from "#storage/providers/providers.ts";
import { systemClock } from "../base/clock.ts";
import { createFakeClock } from "../testing/fake-clock.ts";
import { createFakeHub } from "../testing/fake-hub.ts";
import { openOutbox, type Outbox } from "../hub-link/outbox.ts";
import { keepCapturing, takeFinished, type Capturing } from "./keep-capturing.ts";
import { openLedger, type Ledger } from "./ledger.ts";
import { createRuns } from "./runs.ts";

const run = runName.parse("llama");
let folder: string;
let watched: string;
let outbox: Outbox;
let ledger: Ledger;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-capturing-"));
  watched = join(folder, "watched");
  outbox = await openOutbox(join(folder, "outbox.jsonl"), Date.now);
  ledger = await openLedger(join(folder, "ledger.jsonl"), Date.now);
});
afterEach(async () => {
  await Promise.all([outbox.close(), ledger.close()]);
  await rm(folder, { recursive: true, force: true });
});

async function write(step: number, file = "model.safetensors"): Promise<void> {
  const path = join(watched, `checkpoint-${step}`);
  await mkdir(path, { recursive: true });
  await writeFile(join(path, file), `step ${step}`);
  await utimes(join(path, file), 1_700_000_000, 1_700_000_000);
}

function capturing(about: Partial<Capturing> = {}): Capturing {
  return {
    watch: { folder: watched, run, takes: null },
    watchedSince: 0,
    settleMs: 10,
    unfinishedAfterMs: 300_000,
    ledger,
    runs: createRuns([run], { hub: createFakeHub({}), onOver: () => undefined }),
    outbox,
    captures: join(folder, "captures"),
    traits: () => traitsOf("minio"),
    partBytes: null,
    packing: () => DEFAULT_PACKING,
    disk: { withRoom: (_, copy) => copy() },
    signal: new AbortController().signal,
    until: new AbortController().signal,
    over: () => null,
    wallNow: () => Date.now() + 86_400_000,
    onSeen: () => undefined,
    onCaptured: () => undefined,
    onPassedOver: () => undefined,
    onRefused: () => undefined,
    onFault: (fault) => {
      throw fault;
    },
    ...about,
  };
}

const captured = () => ledger.all().map(({ step }) => step);

/** Captures what is there until something was captured, by a clock that is a day ahead: everything is old enough. */
async function captureOnce(): Promise<void> {
  const stop = new AbortController();
  await keepCapturing(capturing({ until: stop.signal, onCaptured: () => setTimeout(() => stop.abort(), 20) }));
}

test("of several finished at the same look the newest is captured, and the others are in the history as superseded", async () => {
  for (const step of [100, 200, 300]) await write(step);
  await captureOnce();
  expect(captured()).toEqual([300]);
  const told = outbox.next().map((event) => (event.type === "transfer-ended" ? [event.step, event.state] : event.type));
  expect(told).toEqual([
    [100, "superseded"],
    [200, "superseded"],
  ]);
});

test("when the newest cannot be taken, the one before it is not passed over for it", async () => {
  await write(100);
  await write(200);
  await write(300, "a\u0001b.safetensors");
  await captureOnce();
  expect(captured()).toEqual([200]);
  expect(outbox.next().map(({ type }) => type)).toEqual(["capture-refused", "transfer-ended"]);
});

describe("what is finished by now, while the program goes on", () => {
  test("between two of its files nothing is taken; the second look takes what was quiet in between", async () => {
    await write(50, "model.bin");
    const clock = createFakeClock();
    const startedAt = Date.now();
    const parts = capturing({ clock, settleMs: 2_000, wallNow: () => startedAt + clock.now() });
    const found: number[][] = [];
    const sleep = async (ms: number, signal?: AbortSignal) => {
      found.push(captured());
      const slept = clock.sleep(ms, signal);
      await clock.pass(ms);
      await slept;
    };
    await takeFinished({ ...parts, clock: { ...clock, sleep } }, parts.signal);
    expect(found).toEqual([[]]);
    expect(captured()).toEqual([50]);
  });

  test("what goes on being written meanwhile is left to the watcher", async () => {
    await write(50, "model.bin");
    const clock = createFakeClock();
    const startedAt = Date.now();
    const sleep = async (ms: number) => {
      await write(50, "optimizer.bin");
      await clock.pass(ms);
    };
    const parts = capturing({ clock: { ...clock, sleep }, settleMs: 2_000, wallNow: () => startedAt + clock.now() });
    await takeFinished(parts, parts.signal);
    expect(captured()).toEqual([]);
  });

  test("what would have to be waited for much longer is left to the watcher, and so is all when the time is over", async () => {
    await write(50, "model.bin");
    const clock = createFakeClock();
    const parts = capturing({ clock, wallNow: Date.now, settleMs: 3_600_000 });
    await takeFinished(parts, parts.signal);
    expect(captured()).toEqual([]);
    const over = new AbortController();
    const taking = takeFinished({ ...parts, settleMs: 20_000, clock: systemClock }, over.signal);
    over.abort();
    await expect(taking).rejects.toMatchObject({ code: "CANCELLED" });
    expect(captured()).toEqual([]);
  });
});

describe("what was refused", () => {
  /** Watches with a clock that is moved by hand; `goesOn` is asked between two looks with the time by that clock. */
  async function watchWith(about: Partial<Capturing>, goesOn: (ms: number) => Promise<boolean>): Promise<void> {
    const stop = new AbortController();
    const clock = createFakeClock();
    const startedAt = Date.now();
    const sleep = async (ms: number) => {
      await clock.pass(ms);
      if (!(await goesOn(clock.now()))) stop.abort();
    };
    const wallNow = () => startedAt + clock.now();
    const parts = { clock: { ...clock, sleep }, settleMs: 2_000, wallNow, until: stop.signal };
    await keepCapturing(capturing({ ...parts, ...about }));
  }
  const finish = (step: number) => writeFile(join(watched, `checkpoint-${step}`, "trainer_state.json"), "{}");

  test("as unfinished is taken by the last look when it was finished just before the program ended", async () => {
    await write(60, "training_args.bin");
    const refused: string[] = [];
    await watchWith({ over: () => "done", onRefused: (_, { code }) => refused.push(code) }, async () => {
      if (refused.length === 0) return true;
      await finish(60);
      return false;
    });
    expect(refused).toEqual(["NOT_FINISHED"]);
    expect(captured()).toEqual([60]);
  });

  test("as unfinished is kept as doubtful after a while, by a hub that keeps such ones apart", async () => {
    const untilTaken = (): ((ms: number) => Promise<boolean>) => async (ms) => captured().length === 0 && ms < 600_000;
    await write(60, "training_args.bin");
    await watchWith({ hubKnows: () => false }, untilTaken());
    expect(captured()).toEqual([]);
    const at = { ms: 0 };
    await watchWith({ hubKnows: () => true }, async (ms) => {
      at.ms = ms;
      return untilTaken()(ms);
    });
    expect(ledger.all().map(({ step, doubt }) => [step, doubt])).toEqual([[60, "trainer_state.json is missing"]]);
    expect(at.ms).toBeGreaterThanOrEqual(300_000);
  });

  test("as unfinished is kept as doubtful when its program has ended, behind what is whole", async () => {
    await write(60, "training_args.bin");
    await watchWith({ hubKnows: () => true, over: () => "crashed" }, async () => false);
    expect(ledger.all().map(({ step, doubt, priority }) => [step, doubt, priority])).toEqual([
      [60, "trainer_state.json is missing", -1],
    ]);
  });

  test("whose program crashed and whose files say nothing is noted as unfinished, also after a restart, until it is written again", async () => {
    const path = join(watched, "step_20");
    const put = async (name: string) => {
      await mkdir(path, { recursive: true });
      await writeFile(join(path, name), name);
      await utimes(join(path, name), 1_700_000_000, 1_700_000_000);
    };
    await put("part-0.bin");
    await watchWith({ hubKnows: () => true, over: () => "crashed" }, async () => false);
    expect(ledger.all().map(({ step, doubt }) => [step, doubt])).toEqual([
      [20, "its program ended with a fault, and nothing in it says whether it was finished"],
    ]);
    expect(ledger.isUnfinished(path)).toBe(true);
    for (let starts = 0; starts < 2; starts++) {
      await ledger.close();
      ledger = await openLedger(join(folder, "ledger.jsonl"), Date.now);
      expect(ledger.isUnfinished(path)).toBe(true);
    }
    await put("part-1.bin");
    await watchWith({ hubKnows: () => true, over: () => "done" }, async () => false);
    expect(ledger.all()).toHaveLength(2);
    expect(ledger.isUnfinished(path)).toBe(false);
  });

  test("for one impossible name alone is not noted as unfinished: on its own disk it lacks nothing", async () => {
    const path = join(watched, "step_20");
    await mkdir(path, { recursive: true });
    for (const name of ["part-0.bin", "part\u0007.bin"]) {
      await writeFile(join(path, name), name);
      await utimes(join(path, name), 1_700_000_000, 1_700_000_000);
    }
    await watchWith({ hubKnows: () => true, over: () => "done" }, async () => false);
    expect(ledger.all().map(({ step, doubt }) => [step, doubt?.includes("is left out")])).toEqual([[20, true]]);
    expect(ledger.isUnfinished(path)).toBe(false);
  });

  test("as unfinished is said once, and taken soon after it was finished while the program goes on", async () => {
    await write(60, "training_args.bin");
    const refused: string[] = [];
    let finishedAt = 0;
    let takenAt = 0;
    await watchWith({ onRefused: (_, { code }) => refused.push(code) }, async (ms) => {
      if (finishedAt === 0 && ms > 90_000) {
        await finish(60);
        finishedAt = ms;
      }
      takenAt = ms;
      return captured().length === 0 && ms < 300_000;
    });
    expect(refused).toEqual(["NOT_FINISHED"]);
    expect(captured()).toEqual([60]);
    expect(takenAt - finishedAt).toBeLessThan(10_000);
  });

  test("as no checkpoint is said within two minutes and once, also when it is written again without a rest", async () => {
    await mkdir(join(watched, "samples_2026"), { recursive: true });
    const names = ["weights.dat", "samples_2026/faces.dat"];
    const said: { name: string; ms: number }[] = [];
    let now = 0;
    const startedAt = Date.now();
    const told: string[] = [];
    // The hub takes each at once.
    outbox.onAdd = () => {
      const event = outbox.next().at(-1);
      if (event?.type === "capture-refused") told.push(event.path.slice(watched.length + 1));
    };
    await watchWith(
      {
        hubKnows: () => true,
        onRefused: ({ path }, { code }) => said.push({ name: `${code} ${path.slice(watched.length + 1)}`, ms: now }),
      },
      async (ms) => {
        now = ms;
        const writtenAt = (startedAt + ms) / 1_000;
        for (const name of names) {
          await writeFile(join(watched, name), "x".repeat(2_000 + ms / 250));
          // By the clock of the test, as the watch reads it.
          await utimes(join(watched, name), writtenAt, writtenAt);
        }
        return ms < 400_000;
      },
    );
    expect(said.map(({ name }) => name).toSorted()).toEqual([
      "NO_CHECKPOINT samples_2026",
      "NO_CHECKPOINT weights.dat",
    ]);
    expect(Math.max(...said.map(({ ms }) => ms))).toBeLessThanOrEqual(120_000);
    expect(told).toEqual(["samples_2026", "weights.dat"]);
  });

  test("is nothing of a model that Keras writes in place: it is a checkpoint by time, and no final model as well", async () => {
    await mkdir(watched, { recursive: true });
    await writeFile(join(watched, "model.h5"), "state");
    const refused: string[] = [];
    const about = { hubKnows: () => true, onRefused: (_: unknown, { code }: Fault) => refused.push(code) };
    await watchWith(about, async (ms) => ms < 30_000);
    expect(ledger.all().map(({ role, place }) => [role, place?.path, place?.stepFrom])).toEqual([
      [undefined, "model.h5", "time"],
    ]);
    expect(refused).toEqual([]);
  });

  test("beside a checkpoint is named once: settings that are too large, or too many", async () => {
    const said: string[] = [];
    const about: Partial<Capturing> = {
      hubKnows: () => true,
      onRefused: ({ path }, { context: { detail } }) => said.push(`${path.slice(watched.length + 1)}: ${detail}`),
    };
    await write(60);
    await writeFile(join(watched, "tokenizer.json"), "x".repeat(1024 * 1024 + 1));
    await writeFile(join(watched, "config.yaml"), "lr: 1");
    await watchWith(about, async () => captured().length === 0);
    const first = ledger.all().map(({ place }) => place?.beside?.map(({ path }) => path));
    expect(first).toEqual([["config.yaml"]]);
    expect(said).toEqual([
      "tokenizer.json: not kept: it is larger than 1 MiB, the limit of one file of settings beside a checkpoint",
    ]);
    expect(outbox.next().map(({ type }) => type)).toEqual(["capture-refused"]);
  });

  test("beside a checkpoint changes nothing of it, also where that cannot be written down", async () => {
    const refused: string[] = [];
    const faults: string[] = [];
    const add: Outbox["add"] = () => Promise.reject(new Fault("NO_SPACE", { op: "outbox" }));
    const rememberSet: Ledger["rememberSet"] = () => Promise.reject(new Fault("WRITE_FAILED", { op: "ledger" }));
    await write(60);
    await writeFile(join(watched, "tokenizer.json"), "x".repeat(1024 * 1024 + 1));
    await watchWith(
      {
        hubKnows: () => true,
        outbox: { ...outbox, add },
        ledger: { ...ledger, rememberSet },
        onRefused: ({ name }) => refused.push(name),
        onFault: ({ code }) => faults.push(code),
      },
      async () => captured().length === 0,
    );
    expect(refused).toEqual(["tokenizer.json"]);
    expect(faults).toEqual(["WRITE_FAILED", "NO_SPACE"]);
    const [capture] = ledger.all();
    expect(await readdir(capture?.folder ?? "")).not.toEqual([]);
  });

  test("beside a checkpoint for their number are told by the limit", async () => {
    const said: (string | undefined)[] = [];
    await write(60);
    for (let at = 10; at < 28; at++) await writeFile(join(watched, `part${at}.yaml`), "lr: 1");
    const onRefused: Capturing["onRefused"] = (_, { context: { detail } }) => said.push(detail);
    await watchWith({ hubKnows: () => true, onRefused }, async () => captured().length === 0);
    expect(said).toEqual([
      "not kept: the limit is 16 files of settings beside a checkpoint, and these are kept (and 1 more)",
    ]);
  });

  test("for good is said also where it cannot be remembered", async () => {
    const refused: string[] = [];
    const remember: Ledger["remember"] = () => Promise.reject(new Fault("NO_SPACE", { op: "ledger" }));
    const disk: Capturing["disk"] = { withRoom: () => Promise.reject(new Fault("TOO_LARGE", { op: "capture" })) };
    await write(60);
    const onRefused: Capturing["onRefused"] = (_, { code }) => refused.push(code);
    const about = { onRefused, disk, ledger: { ...ledger, remember }, onFault: () => undefined };
    await watchWith(about, async (ms) => refused.length === 0 && ms < 60_000);
    expect(refused).toEqual(["TOO_LARGE"]);
  });

  test("is said again where it was captured meanwhile", async () => {
    const refused: string[] = [];
    const file = join(watched, "checkpoint-70", "model.safetensors");
    // Nothing in it is possible, and the second refusal is as the first one.
    await write(70, "a\u0001b.safetensors");
    let isTaken = false;
    await watchWith({ onRefused: (_, { code }) => refused.push(code) }, async (ms) => {
      if (refused.length === 1 && !isTaken) await write(70);
      if (captured().length > 0 && !isTaken) {
        isTaken = true;
        await rm(file);
      }
      return refused.length < 2 && ms < 300_000;
    });
    expect(refused).toEqual(["HOSTILE_NAME", "HOSTILE_NAME"]);
  });

  /** No room until it is made. */
  function tightDisk() {
    const room = { isThere: false };
    const withRoom: Capturing["disk"]["withRoom"] = (_, copy) =>
      room.isThere ? copy() : Promise.reject(new Fault("DISK_BUDGET", { op: "capture" }));
    return { room, disk: { withRoom } };
  }

  test("for want of room is tried again by the last look", async () => {
    await write(60);
    const { room, disk } = tightDisk();
    await watchWith({ disk, over: () => "done", onRefused: () => (room.isThere = true) }, async () => !room.isThere);
    expect(captured()).toEqual([60]);
  });

  test("rests as it was: when it is written anew it is taken without the rest of a minute", async () => {
    await write(60);
    const { room, disk } = tightDisk();
    let refusedAt = 0;
    let takenAt = 0;
    await watchWith({ disk, onRefused: () => (room.isThere = true) }, async (ms) => {
      if (room.isThere && refusedAt === 0) {
        await writeFile(join(watched, "checkpoint-60", "more.bin"), "more");
        refusedAt = ms;
      }
      takenAt = ms;
      return captured().length === 0 && ms < 300_000;
    });
    expect(captured()).toEqual([60]);
    expect(takenAt - refusedAt).toBeLessThan(30_000);
  });
});

test("what is left out of a checkpoint is told to a hub that says only later what it understands, once", async () => {
  await write(10);
  execFileSync("mkfifo", [join(watched, "checkpoint-10", "control")]);
  const stop = new AbortController();
  let answered = false;
  const refused: string[] = [];
  const clock = createFakeClock();
  const done = keepCapturing(
    capturing({
      clock,
      until: stop.signal,
      hubKnows: () => answered,
      onRefused: ({ path }) => void refused.push(path),
    }),
  );
  const told = () => outbox.next().filter(({ type }) => type === "capture-refused");
  await vi.waitFor(async () => {
    await clock.pass(2_000);
    expect(captured()).toEqual([10]);
    expect(refused).toEqual([join(watched, "checkpoint-10", "control")]);
  });
  expect(told()).toEqual([]);
  answered = true;
  await vi.waitFor(async () => {
    await clock.pass(2_000);
    expect(told()).toHaveLength(1);
  });
  await clock.pass(10_000);
  stop.abort();
  await done;
  expect(told()).toMatchObject([{ path: join(watched, "checkpoint-10", "control") }]);
  expect(refused).toHaveLength(1);
});
