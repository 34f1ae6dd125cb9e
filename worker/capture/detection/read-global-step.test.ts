import { mkdtemp, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readGlobalStep } from "./read-global-step.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-step-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const write = (text: string) => writeFile(join(folder, "trainer_state.json"), text);

test("the step is the one that the Trainer wrote", async () => {
  await write(JSON.stringify({ global_step: 1500, epoch: 2.5, log_history: [] }));
  expect(await readGlobalStep(folder)).toBe(1500);
});

test("a state that is not there, cut short, too large or without a step tells none", async () => {
  expect(await readGlobalStep(folder)).toBeNull();
  for (const text of ['{"global_step": 15', "[]", '{"epoch": 1}', '{"global_step": -1}', '{"global_step": "7"}']) {
    await write(text);
    expect(await readGlobalStep(folder)).toBeNull();
  }
  const large = JSON.stringify({ global_step: 1500 });
  await write(large.padEnd(16 * 1024 * 1024 + 1));
  expect(await readGlobalStep(folder)).toBeNull();
  await truncate(join(folder, "trainer_state.json"), large.length);
  expect(await readGlobalStep(folder)).toBe(1500);
});
