import { expect, it } from "vitest";
import { runName } from "#protocol/base/names.ts";
import { Fault, type FaultData } from "#protocol/faults/fault.ts";
import type { TakenJob } from "#protocol/jobs/node-jobs.ts";
import { createDoubtfulCaptures } from "../capture/doubtful-captures.ts";
import type { SafetyParts } from "../supervise/judge-safety.ts";
import type { Supervised } from "../supervise/supervise.ts";
import { exitOfFault, exitOfInputs, exitOfOutputs } from "./exit-of-fault.ts";
import { exitOf } from "./run-job.ts";

const run = runName.parse("llama");
const folder = "/nowhere/ckpt";
const job: Pick<TakenJob, "run" | "claim"> = { run, claim: { epoch: 2, newest: null, parent: null } };
const open = new AbortController().signal;
const stopped = AbortSignal.abort();

/** An agent whose watched folder does not exist any more. `safe`: step of the newest safe checkpoint of the run. */
const agentWith = (safe: number | null, refused: SafetyParts["refused"] = new Map()): SafetyParts =>
  ({
    options: { watches: [{ run, folder, takes: null }] },
    ledger: {
      all: () => [],
      safe: () => (safe === null ? null : { step: safe }),
      knows: () => false,
      isRestored: () => false,
      isUnfinished: () => false,
      piece: () => null,
    },
    savedRuns: new Set(),
    doubtful: createDoubtfulCaptures([]),
    watchedSince: new Map(),
    laidBefore: new Map(),
    refused,
  }) as unknown as SafetyParts;

const ended = (about: Partial<Supervised> = {}): Supervised => ({
  end: { code: 0, signal: null },
  endedBeforeStop: true,
  points: [],
  nothingTaken: [],
  ...about,
});
const exit = (agent: SafetyParts, supervised: Supervised, stopping = open) =>
  exitOf(agent, { stopping }, { job, supervised });
const nothing = { run, folder, untaken: { files: 1, bytes: 1, largest: [] }, isRefused: false } as never;

it("an attempt is complete when its program ended with 0 and its checkpoints are safe", async () => {
  expect(await exit(agentWith(40), ended())).toEqual({ kind: "exited", code: 0 });
  const earlier = { epoch: 2, newest: { step: 40 }, parent: null } as never;
  const about = { job: { run, claim: earlier }, supervised: ended() };
  expect(await exitOf(agentWith(null), { stopping: open }, about)).toEqual({ kind: "exited", code: 0 });
});

it("it is not complete when nothing was captured, or a checkpoint was refused", async () => {
  expect(await exit(agentWith(null), ended())).toEqual({ kind: "exited", code: 9 });
  expect(await exit(agentWith(40), ended({ nothingTaken: [nothing] }))).toEqual({ kind: "exited", code: 9 });
  const refused = new Map([[import.meta.filename, { run, fingerprint: "of it" }]]) as SafetyParts["refused"];
  expect(await exit(agentWith(40, refused), ended())).toEqual({ kind: "exited", code: 9 });
});

it("a program that completed before the stop is reported as completed, every other one as interrupted", async () => {
  expect(await exit(agentWith(40), ended(), stopped)).toEqual({ kind: "exited", code: 0 });
  const interrupted = { kind: "interrupted" };
  expect(await exit(agentWith(40), ended({ endedBeforeStop: false }), stopped)).toMatchObject(interrupted);
  expect(await exit(agentWith(null), ended(), stopped)).toMatchObject(interrupted);
  expect(await exit(agentWith(40), ended({ end: { code: 3, signal: null } }), stopped)).toMatchObject(interrupted);
  expect(await exit(agentWith(40), ended({ end: null }))).toMatchObject(interrupted);
  expect(await exit(agentWith(40), ended({ end: { code: null, signal: "SIGKILL" } }))).toMatchObject({
    kind: "killed",
  });
});

it.each<[FaultData["code"], string, number]>([
  ["BAD_INPUT", "refused", 0],
  ["PROGRAM_NOT_FOUND", "refused", 0],
  ["PROGRAM_NOT_EXECUTABLE", "refused", 0],
  ["ACCESS_DENIED", "interrupted", 2],
  ["NO_SUCH_BUCKET", "interrupted", 2],
  ["NO_SPACE", "interrupted", 2],
  ["LINK_TOO_SLOW", "interrupted", 2],
  ["FOLDER_IN_USE", "interrupted", 2],
  ["EPOCH_OVER", "interrupted", 1],
])("an attempt that cannot start because of %s is %s, after one setback %i are counted", (code, kind, count) => {
  const setbacks = { count: 1 };
  expect(exitOfFault(new Fault(code), { stopping: open, setbacks })).toMatchObject({ kind });
  expect(setbacks.count).toBe(count);
});

it.each<[FaultData["code"], string, string]>([
  ["NO_SUCH_KEY", "refused", "unsaved"],
  ["ACCESS_DENIED", "refused", "unsaved"],
  ["LINK_REFUSED", "refused", "unsaved"],
  ["HOSTILE_NAME", "refused", "unsaved"],
  ["NO_SPACE", "interrupted", "interrupted"],
  ["LINK_DOWN", "interrupted", "interrupted"],
  ["EPOCH_OVER", "interrupted", "interrupted"],
])("by %s inputs end an attempt as %s, and outputs as %s", (code, input, output) => {
  const about = { stopping: open, setbacks: { count: 0 } };
  expect(exitOfInputs(new Fault(code), about)).toMatchObject({ kind: input });
  expect(exitOfOutputs(new Fault(code), about)).toMatchObject({ kind: output });
  expect(exitOfOutputs(new Fault(code), { ...about, stopping: stopped })).toMatchObject({ kind: "interrupted" });
});
