import { mkdtemp, mkdir, open, rename, rm, stat, writeFile } from "node:fs/promises";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { lookAt, type Look } from "./look.ts";
import { createLastSettler, createSettler, createSettlerByNow, hasOpenWriter, type ProgramOver } from "./settle.ts";

let folder: string;
beforeEach(async () => {
  folder = join(await mkdtemp(join(tmpdir(), "tidemark-settle-")), "checkpoint-1");
  await mkdir(folder);
});
afterEach(() => rm(join(folder, ".."), { recursive: true, force: true }));

const look = async (): Promise<Look> => {
  const seen = await lookAt({ path: folder, kind: "folder" });
  if (seen === null) throw new Error("the folder is gone");
  return seen;
};

function settler(hasWriter = async () => false) {
  const time = { now: 0 };
  const made = createSettler({
    settleMs: 2_000,
    unfinishedAfterMs: 300_000,
    now: () => time.now,
    wallNow: Date.now,
    hasWriter,
  });
  const candidate = { path: folder, name: "checkpoint-1", step: 1, kind: "folder" } as const;
  const ask = async () => made.isSettled(candidate, await look());
  return { time, ask, why: () => made.whyUnfinished(folder), doubt: () => made.doubtOf(folder) };
}

/** Its clock begins when the newest file was touched. */
function settlerByNow(hasWriter = async () => false) {
  const time = { now: 0, since: 0 };
  const made = createSettlerByNow({ settleMs: 2_000, wallNow: () => time.since + time.now, hasWriter });
  const candidate = { path: folder, name: "checkpoint-1", step: 1, kind: "folder" } as const;
  const ask = async () => {
    const seen = await look();
    time.since ||= seen.touchedMs;
    return made.isSettled(candidate, seen);
  };
  return { time, ask, leftMs: () => made.leftMs() };
}

test("is finished when it looked the same for the settle time, not before", async () => {
  await writeFile(join(folder, "model.bin"), "weights");
  const { time, ask } = settler();
  expect(await ask()).toBe(false);
  time.now = 1_999;
  expect(await ask()).toBe(false);
  time.now = 2_000;
  expect(await ask()).toBe(true);
});

test("a write starts the wait anew", async () => {
  await writeFile(join(folder, "model.bin"), "weights");
  const { time, ask } = settler();
  await ask();
  time.now = 1_500;
  await writeFile(join(folder, "optimizer.bin"), "state");
  expect(await ask()).toBe(false);
  time.now = 3_000;
  expect(await ask()).toBe(false);
  time.now = 3_500;
  expect(await ask()).toBe(true);
});

test("a temporary file inside keeps it open", async () => {
  await writeFile(join(folder, "model.bin.tmp"), "wei");
  const { time, ask, why } = settler();
  await ask();
  time.now = 59_999;
  expect([await ask(), why()]).toEqual([false, null]);
  time.now = 60_000;
  expect([await ask(), why()]).toEqual([false, "model.bin.tmp looks temporary"]);
  await rename(join(folder, "model.bin.tmp"), join(folder, "model.bin"));
  expect([await ask(), why()]).toEqual([false, null]);
  time.now += 2_000;
  expect(await ask()).toBe(true);
});

test.each([".metadata.tmp", "model.pt.tmp.17", "tmp_model.pt", "model.safetensors.part", "x.incomplete", ".tmpAb12Cd"])(
  "%s looks temporary",
  async (name) => {
    await writeFile(join(folder, name), "x");
    expect((await look()).temporary).toBe(name);
  },
);

test.each([
  "uv.lock",
  "poetry.lock",
  "train.py~",
  "data.part",
  "sampling_temp_0.7.json",
  ".template.json",
  ".metadata",
])("%s is a file like any other", async (name) => {
  await writeFile(join(folder, name), "x");
  expect((await look()).temporary).toBeNull();
});

test("a marker that is written last ends the wait", async () => {
  await writeFile(join(folder, "model.bin"), "weights");
  await writeFile(join(folder, ".complete"), "");
  const { ask } = settler();
  expect(await ask()).toBe(false);
  expect(await ask()).toBe(true);
});

test("one that its framework has not finished is never taken, and after a while that is said", async () => {
  await writeFile(join(folder, "training_args.bin"), "arguments");
  const { time, ask, why } = settler();
  await ask();
  time.now = 59_000;
  expect(await ask()).toBe(false);
  expect(why()).toBeNull();
  time.now = 3_600_000;
  expect(await ask()).toBe(false);
  expect(why()).toBe("trainer_state.json is missing");
  await writeFile(join(folder, "trainer_state.json"), "{}");
  expect(await ask()).toBe(false);
  expect(why()).toBeNull();
  time.now += 2_000;
  expect(await ask()).toBe(true);
});

test("where only a file beside it would tell and there is none, it is given much longer", async () => {
  await writeFile(join(folder, "zero_pp_rank_0_mp_rank_00_optim_states.pt"), "states");
  const { time, ask } = settler();
  await ask();
  time.now = 29_000;
  expect(await ask()).toBe(false);
  time.now = 30_000;
  expect(await ask()).toBe(true);
});

test("a file beside it that names it ends the wait, although the checkpoint itself did not change", async () => {
  await writeFile(join(folder, "zero_pp_rank_0_mp_rank_00_optim_states.pt"), "states");
  await writeFile(join(folder, "../latest"), "global_step0");
  const { ask } = settler();
  await ask();
  expect(await ask()).toBe(false);
  await writeFile(join(folder, "../latest"), "global_step1");
  expect(await ask()).toBe(true);
});

test("while its program goes on, quiet that is shorter than the settle time may be the time between two files", async () => {
  await writeFile(join(folder, "model.bin"), "weights");
  const { time, ask, leftMs } = settlerByNow();
  expect([await ask(), leftMs()]).toEqual([false, 2_000]);
  time.now = 1_999;
  expect([await ask(), leftMs()]).toEqual([false, 1]);
  time.now = 2_000;
  expect([await ask(), leftMs()]).toEqual([true, 0]);
});

test("then what says itself that it is finished is taken at once, what says that it is not never", async () => {
  const { time, ask, leftMs } = settlerByNow();
  await writeFile(join(folder, "training_args.bin"), "arguments");
  time.now = 3_600_000;
  expect([await ask(), leftMs()]).toEqual([false, 0]);
  time.now = 0;
  await writeFile(join(folder, ".complete"), "");
  expect(await ask()).toBe(true);
});

test("then small files may follow the Trainer's state, and much time may pass between those of many ranks", async () => {
  await writeFile(join(folder, "trainer_state.json"), "{}");
  const trainer = settlerByNow();
  expect([await trainer.ask(), trainer.leftMs()]).toEqual([false, 2_000]);
  await rm(join(folder, "trainer_state.json"));
  await writeFile(join(folder, "zero_pp_rank_0_mp_rank_00_optim_states.pt"), "states");
  const ranks = settlerByNow();
  expect([await ranks.ask(), ranks.leftMs()]).toEqual([false, 30_000]);
  ranks.time.now = 30_000;
  expect(await ranks.ask()).toBe(true);
});

test("then what is written to after the first look is not waited for, nor what somebody has open", async () => {
  await writeFile(join(folder, "model.bin"), "weights");
  const written = settlerByNow();
  await written.ask();
  await writeFile(join(folder, "optimizer.bin"), "state");
  expect([await written.ask(), written.leftMs()]).toEqual([false, 0]);
  const held = settlerByNow(async () => true);
  held.time.now = 60_000;
  expect([await held.ask(), held.leftMs()]).toEqual([false, 0]);
});

test("how long it was untouched is not judged by the clock of another machine, which may be behind", async () => {
  await writeFile(join(folder, "model.bin"), "weights");
  const candidate = { path: folder, name: "checkpoint-1", step: 1, kind: "folder" } as const;
  const open = () => {
    const time = { now: 0 };
    // The disk's clock is a minute behind.
    const wallNow = () => Date.now() + 60_000 + time.now;
    const given = { settleMs: 2_000, wallNow, hasWriter: async () => false };
    const settled = createSettler({ ...given, unfinishedAfterMs: 300_000, now: () => time.now });
    return { time, settlers: [settled, createSettlerByNow(given)] };
  };
  const seen = await look();
  for (const isRemote of [false, true]) {
    const { time, settlers } = open();
    const askBoth = () => Promise.all(settlers.map((one) => one.isSettled(candidate, { ...seen, isRemote })));
    expect(await askBoth()).toEqual([!isRemote, !isRemote]);
    time.now = 3_000;
    expect(await askBoth()).toEqual([true, true]);
  }
});

test("is not finished while a process has a file in it open for writing", async () => {
  await writeFile(join(folder, "model.bin"), "weights");
  const { time, ask } = settler(async () => true);
  await ask();
  time.now = 60_000;
  expect(await ask()).toBe(false);
});

test.skipIf(!existsSync("/proc/self/fdinfo"))(
  "sees another process's open file, and tells writing from reading",
  async () => {
    const path = join(folder, "model.bin");
    await writeFile(path, "weights");
    const hold = async (flags: string) => {
      const script = `require("node:fs").openSync(${JSON.stringify(path)}, "${flags}"); console.log("open"); setInterval(() => {}, 1000);`;
      const child = spawn(process.execPath, ["-e", script], { stdio: ["ignore", "pipe", "inherit"] });
      await once(child.stdout, "data");
      return async () => {
        const ended = once(child, "exit");
        child.kill("SIGKILL");
        await ended;
      };
    };
    const endReader = await hold("r");
    expect(await hasOpenWriter({ path: folder, kind: "folder" })).toBe(false);
    await endReader();
    const endWriter = await hold("a");
    expect(await hasOpenWriter({ path: folder, kind: "folder" })).toBe(true);
    // Of a final model only its own files count: logs beside it stay open.
    expect(await hasOpenWriter({ path: folder, kind: "folder", names: ["model.bin"] })).toBe(true);
    expect(await hasOpenWriter({ path: folder, kind: "folder", names: ["model.safetensors"] })).toBe(false);
    await endWriter();
    expect(await hasOpenWriter({ path: folder, kind: "folder" })).toBe(false);
  },
);

test("our own reading does not count as a writer", async () => {
  const path = join(folder, "model.bin");
  await writeFile(path, "weights");
  const handle = await open(path, "r+");
  expect(await hasOpenWriter({ path: folder, kind: "folder" })).toBe(false);
  await handle.close();
});

test("what looks unfinished is doubtful when it has not changed for long enough, unless somebody writes it", async () => {
  await writeFile(join(folder, "training_args.bin"), "arguments");
  const held = { is: false };
  const { time, ask, doubt } = settler(async () => held.is);
  expect(await ask()).toBe(false);
  time.now = 299_999;
  expect([await ask(), doubt()]).toEqual([false, null]);
  time.now = 300_000;
  expect([await ask(), doubt()]).toEqual([false, "trainer_state.json is missing"]);
  held.is = true;
  expect([await ask(), doubt()]).toEqual([false, null]);
  held.is = false;
  // A change starts the wait anew.
  await writeFile(join(folder, "optimizer.pt"), "state");
  expect([await ask(), doubt()]).toEqual([false, null]);
});

test("when the program has ended, what is missing never comes: it is doubtful at once", async () => {
  await writeFile(join(folder, "training_args.bin"), "arguments");
  const candidate = { path: folder, name: "checkpoint-1", step: 1, kind: "folder" } as const;
  for (const how of ["done", "crashed"] as const) {
    const last = createLastSettler(how);
    expect(await last.isSettled(candidate, await look())).toBe(false);
    expect(last.doubtOf(folder)).toBe("trainer_state.json is missing");
  }
  await rm(join(folder, "training_args.bin"));
  await writeFile(join(folder, "weights.bin"), "of no known format");
  const after = async (how: ProgramOver) => {
    const last = createLastSettler(how);
    return [await last.isSettled(candidate, await look()), last.doubtOf(folder)];
  };
  expect(await after("done")).toEqual([true, null]);
  expect(await after("crashed")).toEqual([false, expect.stringContaining("nothing in it says")]);
  // After an interruption: whether a handler wrote all of it afterwards.
  const born = (await stat(join(folder, "weights.bin"))).birthtimeMs;
  const doubtful = [false, expect.stringContaining("nothing in it says")];
  expect(await after({ interruptedAtMs: born - 1 })).toEqual([true, null]);
  expect(await after({ interruptedAtMs: born })).toEqual(doubtful);
  const last = createLastSettler({ interruptedAtMs: born - 1 });
  expect(await last.isSettled(candidate, { ...(await look()), isRemote: true })).toBe(false);
});
