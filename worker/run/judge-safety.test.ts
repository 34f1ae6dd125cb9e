import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { runName } from "#protocol/names.ts";
import { ENDED_UNSAFE, type NodeEventBody } from "#protocol/reports.ts";
import type { Agent } from "../agent-assemble.ts";
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
    ledger: { all: () => [], safe: () => null, knows: () => false, isRestored: () => false },
    savedRuns: new Set<string>(),
    watchedSince: new Map(),
    outbox: { add: async (event: NodeEventBody) => void events.push(event) },
    narrator: { nothingTaken: (about: NothingTaken) => void said.push(about) },
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
  expect(await isAllSafe(agent, { nothingTaken: nothing, startedAt: 0 })).toBe(false);
});

test("a program that wrote text alone, or nothing, is no news", async () => {
  expect((await ended()).nothing).toEqual([]);
  expect((await ended("config.json", "train.log")).nothing).toEqual([]);
});

test("a checkpoint that was refused is not safe although an earlier one is; what lay there before is not asked for", async () => {
  await write("ckpt_10.pt");
  const agentWith = (knows: (path: string) => boolean) =>
    ({
      options: { watches: [{ run, folder, takes: null }] },
      ledger: { all: () => [], safe: () => null, knows, isRestored: () => false },
      savedRuns: new Set([run]),
      watchedSince: new Map(),
    }) as unknown as Agent;
  const judge = (knows: boolean, startedAt: number) =>
    isAllSafe(
      agentWith(() => knows),
      { nothingTaken: [], startedAt },
    );
  const before = Date.now() - 60_000;
  expect(await judge(true, before)).toBe(true);
  expect(await judge(false, before)).toBe(false);
  expect(await judge(false, Date.now() + 60_000)).toBe(true);
});
