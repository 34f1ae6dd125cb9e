import { mkdir, mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createWalkOrder } from "./walk-order.ts";
import { createFinder } from "./walk-watched.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-order-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const FEW = { newest: 5, inTurn: 3, names: 1_000 };
const finderOf = (first = FEW) => createFinder({ folder }, null, createWalkOrder(folder, { first, later: FEW }));
type Finder = ReturnType<typeof finderOf>;

const found = async (finder: Finder) => (await finder.findAnew()).map(({ path }) => relative(folder, path)).toSorted();

/** Writes a checkpoint into a folder, and gives the folders above it an age in seconds. */
async function write(path: string, ageSeconds: number): Promise<void> {
  await mkdir(join(folder, path), { recursive: true });
  await writeFile(join(folder, path, "model.safetensors"), path);
  const at = new Date(Date.now() - ageSeconds * 1_000);
  for (let above = dirname(path); above !== "."; above = dirname(above)) await utimes(join(folder, above), at, at);
}

async function makeMany(count: number): Promise<void> {
  for (let at = 0; at < count; at++) {
    await mkdir(join(folder, `job-${at}-x`));
    const time = new Date(Date.now() - (1_000 + at) * 1_000);
    await utimes(join(folder, `job-${at}-x`), time, time);
  }
}

test("of more folders than a walk enters, those that changed last are", async () => {
  await makeMany(40);
  await write("new/ckpts/step_10", 10);
  await write("old/ckpts/step_20", 90_000);
  const finder = finderOf({ ...FEW, inTurn: 0 });
  expect(await found(finder)).toEqual(["new/ckpts/step_10"]);
});

test("every folder is entered in its turn, and one that held a checkpoint is entered from then on", async () => {
  await makeMany(40);
  await write("old/ckpts/step_20", 90_000);
  const finder = finderOf();
  const seen: string[][] = [];
  for (let walk = 0; walk < 20; walk++) seen.push(await found(finder));
  const first = seen.findIndex((paths) => paths.length > 0);
  expect(first).toBeGreaterThan(0);
  expect(seen.slice(first).every(([path]) => path === "old/ckpts/step_20")).toBe(true);
  // The program removes its only checkpoint before it writes the next.
  await rm(join(folder, "old/ckpts/step_20"), { recursive: true });
  expect(await found(finder)).toEqual([]);
  await write("old/ckpts/step_30", 90_000);
  expect(await found(finder)).toEqual(["old/ckpts/step_30"]);
  await write("old/ckpts/step_40", 90_000);
  expect(await found(finder.again())).toEqual(["old/ckpts/step_30", "old/ckpts/step_40"]);
});

test("names of savers are looked at however many folders lie beside them", async () => {
  await makeMany(40);
  for (let step = 1; step <= 20; step++) await write(`checkpoint-${step}`, 0);
  const all = await found(finderOf({ newest: 1, inTurn: 0, names: 1 }));
  expect(all).toHaveLength(20);
});

test("the first walk, as at the end of a program, enters many more folders than those that follow", async () => {
  for (let at = 0; at < 2_600; at++) await mkdir(join(folder, `job-${at}-x`));
  await write("old/ckpts/step_20", 90_000);
  expect(await found(createFinder({ folder }, null))).toEqual(["old/ckpts/step_20"]);
});
