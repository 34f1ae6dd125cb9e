import { mkdtemp, rm, writeFile } from "node:fs/promises";
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
  await prepareRuns(agent, { startFrom: { kind: "newest" }, wish: "newest" });
  expect(before()).toEqual(["ckpt_10.pt"]);
  await writeFile(join(folder, "ckpt_20.pt"), "of this one, which crashed");
  await prepareRuns(agent, { startFrom: { kind: "newest" }, wish: "newest" });
  expect(before()).toEqual(["ckpt_10.pt"]);
});
