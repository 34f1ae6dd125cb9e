import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, readFile, rm, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { runName } from "#protocol/base/names.ts";
import { DEFAULT_PACKING } from "#protocol/checkpoint/packing.ts";
import { crc32Hex } from "#storage/checksums/crc32.ts";
import { traitsOf } from "#storage/providers/providers.ts";
import { onRemoteDisk } from "../testing/trial-remote-disk.ts";
import { assertAsLooked } from "../capture/assert-as-looked.ts";
import type { Candidate } from "../capture/detection/find.ts";
import { openLedger } from "../capture/ledger.ts";
import { lookAt, type Look } from "../capture/detection/look.ts";
import { createRecogniser } from "../capture/detection/recognise.ts";
import { createSettlerByNow } from "../capture/detection/settle.ts";
import { takeSnapshot } from "../capture/snapshot.ts";
import { createFinder } from "../capture/detection/walk-watched.ts";

onRemoteDisk();

let folder: string;
let candidate: Candidate;
let weights: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-unsteady-"));
  candidate = { path: join(folder, "checkpoint-5"), name: "checkpoint-5", step: 5, kind: "folder" };
  weights = join(candidate.path, "model.safetensors");
  await mkdir(candidate.path);
  // Too large for a pack.
  await writeFile(weights, randomBytes(9_000_000));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** Tells another time of the weights, this many ms later than now. */
async function wobble(byMs: number, path = weights): Promise<void> {
  const at = (await stat(path)).mtimeMs + byMs;
  await utimes(path, at / 1000, at / 1000);
}

async function look(): Promise<Look> {
  const seen = await lookAt(candidate);
  if (seen === null) throw new Error("the checkpoint is gone");
  return seen;
}

const snapshot = (seen: Look) =>
  takeSnapshot({
    candidate,
    look: seen,
    run: runName.parse("llama"),
    epoch: 1,
    captures: join(folder, "captures"),
    traits: traitsOf("aws"),
    partBytes: null,
    packing: DEFAULT_PACKING,
    startedBy: "queue",
    wallNow: Date.now,
  });

test("looks are equal while times wobble, and differ after a write", async () => {
  const first = await look();
  await wobble(-800);
  const second = await look();
  await wobble(1_500);
  const third = await look();
  expect([second.fingerprint, third.fingerprint]).toEqual([first.fingerprint, first.fingerprint]);
  expect([first.wobbles, third.wobbles]).toEqual([false, true]);
  await wobble(5_000);
  expect((await look()).fingerprint).not.toBe(first.fingerprint);
});

test("a checkpoint whose times wobble while it is captured is taken", async () => {
  const seen = await look();
  await wobble(-700);
  expect(await snapshot(seen)).toMatchObject({ step: 5, fingerprint: seen.fingerprint });
});

test("where the time of a file went back, its bytes are compared with those that were secured", async () => {
  const [file] = (await look()).files;
  if (file === undefined) throw new Error("no file");
  const { mtimeMs } = await stat(weights);
  const sum = crc32Hex(await readFile(weights));
  const secured = { partBytes: 9_000_000, sums: [sum] };
  await wobble(-700);
  await assertAsLooked(file, secured);
  await writeFile(weights, randomBytes(9_000_000));
  await utimes(weights, (mtimeMs - 700) / 1000, (mtimeMs - 700) / 1000);
  await expect(assertAsLooked(file, secured)).rejects.toMatchObject({ code: "SOURCE_CHANGED" });
});

test("what was taken is known after a restart that finds another time, and what is written later is not", async () => {
  const path = join(folder, "ledger.jsonl");
  const before = await openLedger(path, Date.now);
  const seen = await look();
  await before.remember(candidate.path, seen.fingerprint);
  await before.rememberSet(candidate.path, seen);
  await before.close();
  const told = async (change: Partial<Look>) => {
    const ledger = await openLedger(path, Date.now);
    const other = { ...seen, fingerprint: "of other times", ...change };
    await ledger.recall(candidate.path, other);
    // Written again while this process runs.
    await ledger.recall(candidate.path, { ...other, fingerprint: "at the second look" });
    const known = ledger.knows(candidate.path, other.fingerprint);
    expect(ledger.knows(candidate.path, "at the second look")).toBe(false);
    await ledger.close();
    return known;
  };
  expect(await told({ newestMs: seen.newestMs + 60_000 })).toBe(false);
  expect(await told({ files: [] })).toBe(false);
  expect(await told({ newestMs: seen.newestMs + 900 })).toBe(true);
});

test("by a clock that is behind, what came while we watched is of this run all the same", async () => {
  const own: Candidate = { path: join(folder, "llama_200"), name: "llama_200", step: 200, kind: "folder" };
  await mkdir(own.path);
  const file = join(own.path, "model.bin");
  await writeFile(file, Buffer.from("PK\u0003\u0004 of a file of PyTorch"));
  await utimes(file, new Date("2023-02-01"), new Date("2023-02-01"));
  const watchedSince = Date.now() + 600_000;
  const judge = async (before: Candidate[]) => {
    const recogniser = createRecogniser({
      isNamed: false,
      watchedSince,
      knows: () => false,
      isRestored: () => false,
    });
    recogniser.keepOnly(before);
    const seen = await lookAt(own);
    if (seen === null) throw new Error("it is gone");
    return (await recogniser.judge(own, seen)).why;
  };
  expect(await judge([own])).not.toBeNull();
  expect(await judge([])).toBeNull();
});

test("by a clock that is ahead, what is quiet is taken when asked for what is finished by now", async () => {
  let now = Date.now() - 600_000;
  const settler = createSettlerByNow({ settleMs: 2_000, wallNow: () => now, hasWriter: () => Promise.resolve(false) });
  expect(await settler.isSettled(candidate, await look())).toBe(false);
  expect(settler.leftMs()).toBeLessThan(10_000);
  now += settler.leftMs();
  expect(await settler.isSettled(candidate, await look())).toBe(true);
});

test("a checkpoint is found that came with the same time of its folder, by a clock that is behind", async () => {
  const finder = createFinder({ folder }, null);
  const longAgo = new Date(Date.now() - 3_600_000);
  await utimes(folder, longAgo, longAgo);
  const names = async () => (await finder.findAnew()).map(({ name }) => name);
  expect(await names()).toEqual(["checkpoint-5"]);
  await mkdir(join(folder, "checkpoint-6"));
  await writeFile(join(folder, "checkpoint-6/model.safetensors"), "x");
  await utimes(folder, longAgo, longAgo);
  expect(await names()).toEqual(["checkpoint-5", "checkpoint-6"]);
});
