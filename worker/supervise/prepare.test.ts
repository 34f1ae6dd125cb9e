import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { runName } from "#protocol/base/names.ts";
import type { Agent } from "../agent/agent-assemble.ts";
import { prepareRuns } from "./prepare.ts";

const run = runName.parse("llama");
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-prepare-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** An agent whose hub has no checkpoint of the run. */
const agentWithout = () =>
  ({
    options: { watches: [{ run, folder, takes: null }] },
    ledger: {
      safe: () => null,
      knows: () => false,
      isRestored: () => false,
      isUnfinished: () => false,
      chosenEpoch: () => null,
      runStartedAt: async () => 0,
    },
    runs: { askAnew: async () => ({ epoch: 2, newest: null, parent: null }), get: () => undefined },
    reporter: {
      leftInPlace: () => undefined,
      setAside: () => undefined,
      waitingFor: () => undefined,
      resuming: () => undefined,
    },
    epochsBefore: new Map([[run, 1]]),
    prepared: new Set(),
    watchedSince: new Map([[run, Date.now() + 60_000]]),
    leftInPlace: new Map(),
    laidBefore: new Map<string, string>(),
    beginnings: new Map(),
    stepRecords: { renew: () => undefined },
    training: { reached: () => null, note: () => undefined },
    signal: new AbortController().signal,
  }) as unknown as Agent;

test("what lies in a watched folder before the first start of the program is remembered as it is, and no more at a later start", async () => {
  const agent = agentWithout();
  const before = () => [...agent.laidBefore.keys()].map((path) => basename(path));
  await writeFile(join(folder, "ckpt_10.pt"), "of an earlier program");
  await prepareRuns(agent, { startFrom: { kind: "newest" }, restoreMode: "newest" });
  expect(before()).toEqual(["ckpt_10.pt"]);
  await writeFile(join(folder, "ckpt_20.pt"), "of this one, which crashed");
  await prepareRuns(agent, { startFrom: { kind: "newest" }, restoreMode: "newest" });
  expect(before()).toEqual(["ckpt_10.pt"]);
});

test("after later checkpoints are moved aside, the pointer beside an older one of this disk names that one", async () => {
  const setAside: string[] = [];
  const agent = agentWithout();
  Object.assign(agent.reporter, { setAside: ({ path }: { path: string }) => void setAside.push(basename(path)) });
  for (const [name, text] of [
    ["global_step20", "20"],
    ["global_step40", "40"],
  ] as const) {
    await mkdir(join(folder, name));
    await writeFile(join(folder, name, "mp_rank_00_model_states.pt"), text);
  }
  await writeFile(join(folder, "latest"), "global_step40");
  Object.assign(agent, { epochsBefore: new Map([[run, 2]]) });
  Object.assign(agent.runs, {
    askAnew: async () => ({
      epoch: 2,
      newest: { checkpointId: "c", step: 20, capturedAt: 1 },
      parent: null,
      isChosen: true,
    }),
  });
  Object.assign(agent.ledger, { knows: () => true, isRestored: () => true, chosenEpoch: () => null });
  Object.assign(agent.ledger, { noteSafe: async () => undefined, noteChosen: async () => undefined });
  await prepareRuns(agent, { startFrom: { kind: "newest" }, restoreMode: "newest" });
  expect(await readFile(join(folder, "latest"), "utf8")).toBe("global_step20");
  expect(await readFile(join(folder, ".set-aside-latest"), "utf8")).toBe("global_step40");
  expect(setAside).toEqual(["global_step40", "latest"]);
});
