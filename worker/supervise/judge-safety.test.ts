import { mkdir, mkdtemp, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Fault } from "#protocol/faults/fault.ts";
import { runName } from "#protocol/base/names.ts";
import { ENDED_UNSAFE, type NodeEventBody } from "#protocol/wire/reports.ts";
import type { Agent } from "../agent/agent-assemble.ts";
import { capturingOf } from "../agent/agent-capture.ts";
import type { Capture } from "../capture/capture.ts";
import type { Candidate } from "../capture/detection/find.ts";
import { createDoubtfulCaptures } from "../capture/doubtful-captures.ts";
import { lookAt } from "../capture/detection/look.ts";
import { isAllSafe, tellNothingTaken, type NothingTaken } from "./judge-safety.ts";

const run = runName.parse("llama");
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-judge-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function write(path: string): Promise<void> {
  await mkdir(dirname(join(folder, path)), { recursive: true });
  await writeFile(join(folder, path), "x".repeat(5_000));
}

/** Ends a program that wrote these files, of which nothing was captured. */
async function ended(...paths: string[]) {
  const startedAt = Date.now() - 60_000;
  for (const path of paths) await write(path);
  const said: NothingTaken[] = [];
  const events: NodeEventBody[] = [];
  const agent = {
    options: { watches: [{ run, folder, takes: null }] },
    ledger: {
      all: () => [],
      safe: () => null,
      knows: () => false,
      isRestored: () => false,
      isUnfinished: () => false,
      piece: () => null,
    },
    savedRuns: new Set<string>(),
    doubtful: createDoubtfulCaptures([]),
    watchedSince: new Map(),
    laidBefore: new Map(),
    refused: new Map(),
    outbox: { add: async (event: NodeEventBody) => void events.push(event) },
    reporter: { nothingTaken: (about: NothingTaken) => void said.push(about) },
    session: { knows: () => true },
  } as unknown as Agent;
  const nothing = await tellNothingTaken(agent, startedAt);
  expect(said).toEqual(nothing);
  return { nothing, ops: events.map((event) => event.type === "capture-refused" && event.fault.op), agent };
}

test.each([
  { wrote: ["notes.dat"], isRefused: false },
  { wrote: ["samples_2026/faces.dat", "notes.dat"], isRefused: true },
  { wrote: ["ckpt_5.pt"], isRefused: true },
])("a program that wrote $wrote, of which nothing was captured, is told on the node and to the hub", async (about) => {
  const { nothing, ops, agent } = await ended(...about.wrote);
  expect(nothing).toMatchObject([{ run, isRefused: about.isRefused, untaken: { files: about.wrote.length } }]);
  expect(ops).toEqual([ENDED_UNSAFE]);
  expect(await isAllSafe(agent, nothing)).toBe(false);
});

test("a program that wrote text alone, or nothing, is no news", async () => {
  expect((await ended()).nothing).toEqual([]);
  expect((await ended("config.json", "train.log")).nothing).toEqual([]);
});

/** Ends a program that saved something and wrote these files as well. */
async function endedBeside(about: { told?: string; files: readonly string[] }) {
  const startedAt = Date.now() - 60_000;
  for (const path of about.files) await write(path);
  const left: { files: number; bytes: number }[] = [];
  const events: NodeEventBody[] = [];
  const agent = {
    options: { watches: [{ run, folder, takes: null }] },
    ledger: { all: () => [], safe: () => ({ step: 10, at: 1 }) },
    savedRuns: new Set([run]),
    watchedSince: new Map(),
    leftOut: new Set(about.told === undefined ? [] : [join(folder, about.told)]),
    outbox: { add: async (event: NodeEventBody) => void events.push(event) },
    reporter: { leftAtEnd: ({ untaken }: { untaken: { files: number; bytes: number } }) => void left.push(untaken) },
    session: { knows: () => true },
  } as unknown as Agent;
  expect(await tellNothingTaken(agent, startedAt)).toEqual([]);
  return { left, events: events.map((event) => event.type === "capture-refused" && event.fault.op) };
}

test("what a program left beside what it saved is told at its end with count and size, to the hub once", async () => {
  const files = ["checkpoint-10/model.safetensors", "notes.dat", "samples/faces.dat"];
  const { left, events } = await endedBeside({ files });
  expect(left).toMatchObject([{ files: 2, bytes: 10_000 }]);
  expect(events).toEqual(["capture"]);
  const again = await endedBeside({ files: [], told: left[0] === undefined ? "" : "notes.dat" });
  expect([again.left.length, again.events]).toEqual([1, []]);
});

test("checkpoints, a final model below the folder and text are nothing that was left", async () => {
  const files = ["checkpoint-10/model.safetensors", "best/model.safetensors", "best/config.json", "train.log"];
  expect(await endedBeside({ files })).toEqual({ left: [], events: [] });
});

/** An agent that made a checkpoint safe, and what its watched folder is captured with. */
function saved(knows: (path: string) => boolean = () => true) {
  const agent = {
    options: { watches: [{ run, folder, takes: null }], settleMs: 1, unfinishedAfterMs: 1 },
    ledger: {
      all: () => [],
      safe: () => null,
      knows,
      isRestored: () => false,
      isUnfinished: () => false,
      piece: () => null,
      intervalMs: () => null,
    },
    savedRuns: new Set([run]),
    doubtful: createDoubtfulCaptures([]),
    watchedSince: new Map(),
    laidBefore: new Map(),
    leftInPlace: new Map(),
    leftOut: new Set(),
    refused: new Map(),
    runs: new Map(),
    beginnings: new Map(),
    storeSessions: {},
    reporter: { refused: () => undefined, passedOver: () => undefined, captured: () => undefined },
    uplink: { bytesPerSecond: () => null },
    uploader: { wake: () => undefined },
    state: folder,
  } as unknown as Agent;
  const capturing = capturingOf(agent, { run, folder, takes: null });
  return { agent, capturing, isSafe: () => isAllSafe(agent, []) };
}

const candidateAt = (name: string): Candidate => ({ path: join(folder, name), name, step: 10, kind: "file" });
const fingerprintOf = async (name: string) => {
  const look = await lookAt(candidateAt(name));
  if (look === null) throw new Error(`${name} is not there`);
  return look.fingerprint;
};

test("what is neither captured nor passed over is not safe although an earlier one is; what lay there before as it is is not asked for", async () => {
  await write("ckpt_10.pt");
  expect(await saved().isSafe()).toBe(true);
  const { agent, isSafe } = saved(() => false);
  expect(await isSafe()).toBe(false);
  // A disk whose clock is behind ours gives it an old date.
  await utimes(join(folder, "ckpt_10.pt"), 1, 1);
  expect(await isSafe()).toBe(false);
  agent.laidBefore.set(join(folder, "ckpt_10.pt"), await fingerprintOf("ckpt_10.pt"));
  expect(await isSafe()).toBe(true);
  await writeFile(join(folder, "ckpt_10.pt"), "written again by the program");
  expect(await isSafe()).toBe(false);
});

test.each(["HOSTILE_NAME", "TOO_LARGE", "LINK_REFUSED", "READ_FAILED"] as const)(
  "a checkpoint whose last outcome is a refusal (%s) is not safe, until it is captured, passed over or removed",
  async (code) => {
    await write("ckpt_10.pt");
    const candidate = candidateAt("ckpt_10.pt");
    const look = code === "HOSTILE_NAME" || code === "TOO_LARGE" ? await lookAt(candidate) : null;
    // Refused for good, it is known; one that cannot be looked at is none that lies there.
    const { agent, capturing, isSafe } = saved(() => true);
    const refuse = () => capturing.onRefused(candidate, new Fault(code, { op: "capture" }), look);
    refuse();
    expect(await isSafe()).toBe(false);
    capturing.onPassedOver(candidate);
    expect(await isSafe()).toBe(true);
    refuse();
    agent.laidBefore.set(candidate.path, await fingerprintOf("ckpt_10.pt"));
    // Of one that cannot be looked at nobody knows whether the program wrote it.
    expect(await isSafe()).toBe(look !== null);
    agent.laidBefore.clear();
    const taken = { run, step: 10, sourcePath: candidate.path, sizeBytes: 1, role: "final-model" };
    capturing.onCaptured(taken as unknown as Capture);
    expect(await isSafe()).toBe(true);
    refuse();
    await rm(candidate.path);
    expect(await isSafe()).toBe(true);
  },
);

test("what is no checkpoint, and what another run could not take, is no refusal of this run's", async () => {
  await write("notes.dat");
  const { agent, capturing, isSafe } = saved();
  capturing.onRefused(candidateAt("notes.dat"), new Fault("NO_CHECKPOINT", { op: "capture" }), null);
  agent.refused.set(join(folder, "notes.dat"), { run: runName.parse("other"), fingerprint: null });
  expect(await isSafe()).toBe(true);
});

test.each(["checkpoint", "final model"])(
  "a %s that may be incomplete is not safe, until a later whole one of its kind is",
  async (kind) => {
    const { agent, capturing, isSafe } = saved();
    const role = kind === "checkpoint" ? {} : { role: "final-model" as const };
    const captureAt = (step: number, change: Partial<Capture>): Capture =>
      ({
        id: `${step} ${Object.keys(change).join()}`,
        run,
        step,
        sourcePath: join(folder, String(step)),
        sizeBytes: 1,
        capturedAt: step,
        ...change,
      }) as Capture;
    const whole = captureAt(10, role);
    capturing.onCaptured(whole);
    agent.doubtful.noteStored(whole);
    expect(await isSafe()).toBe(true);
    const doubtful = captureAt(20, { ...role, doubt: "b.bin is left out" });
    capturing.onCaptured(doubtful);
    expect(await isSafe()).toBe(false);
    agent.doubtful.noteStored(doubtful);
    expect(await isSafe()).toBe(false);
    expect(agent.doubtful.unresolved(run)).toEqual([{ run, step: 20, why: "b.bin is left out", at: 20, ...role }]);
    // Neither an earlier one, nor one of the other kind, nor of another run shows that it is whole.
    agent.doubtful.noteStored(captureAt(15, role));
    agent.doubtful.noteStored(captureAt(30, kind === "checkpoint" ? { role: "final-model" } : {}));
    agent.doubtful.noteStored(captureAt(30, { ...role, run: runName.parse("other") }));
    expect(await isSafe()).toBe(false);
    agent.doubtful.noteStored(captureAt(30, role));
    expect(await isSafe()).toBe(true);
  },
);

test("a piece of a step is not safe before the pieces of all nodes are there", async () => {
  const { agent, isSafe } = saved();
  expect(await isSafe()).toBe(true);
  agent.ledger.piece = () => ({ step: 20 }) as ReturnType<typeof agent.ledger.piece>;
  expect(await isSafe()).toBe(false);
});

test("a folder that cannot be read is not safe", async () => {
  await rm(folder, { recursive: true });
  // Not a folder: its listing fails with another code than that of one that is not there.
  await symlink(folder, folder);
  expect(await saved().isSafe()).toBe(false);
});
