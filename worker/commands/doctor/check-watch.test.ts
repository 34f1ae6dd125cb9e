import { chown, mkdir, mkdtemp, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { checkWatch } from "./check-watch.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-watch-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function write(path: string, text = "x".repeat(2_000)): Promise<void> {
  await mkdir(dirname(join(folder, path)), { recursive: true });
  await writeFile(join(folder, path), text);
}

const look = async () => (await checkWatch({ folder, takes: null })).map(({ outcome, says }) => `${outcome}: ${says}`);

test("what would be taken is listed with its step and place, what would be left with the reason", async () => {
  await write("lightning_logs/version_0/checkpoints/epoch=5-step=600.ckpt");
  await write("model_step_10.pt");
  await write("optim_step_10.pt");
  await write("data/train.bin", "\u0001".repeat(5_000));
  await write("samples_2026/samples.json", "[]");
  await symlink(join(folder, "model_step_10.pt"), join(folder, "latest.pt"));
  expect(await look()).toEqual([
    "ok: takes model_step_10.pt as step 10 (3.9 KiB, 2 files) with optim_step_10.pt; a restore puts it back at the same place",
    "ok: takes lightning_logs/version_0/checkpoints/epoch=5-step=600.ckpt as step 600 (2.0 KiB); a restore puts it back at the same place",
    "warn: leaves samples_2026: it holds no file in a checkpoint format",
    "ok: keeps with model_step_10.pt: latest.pt -> model_step_10.pt",
    "warn: leaves data/train.bin (4.9 KiB): no checkpoint format",
  ]);
});

test("a model without a word of its saver is a state by time, and the final model beside checkpoints", async () => {
  await write("model.h5");
  await write("notes.bin", "\u0001".repeat(5_000));
  expect(await look()).toEqual([
    expect.stringMatching(
      /^ok: takes model\.h5 as the state of .* \(2\.0 KiB\); a restore puts it back at the same place$/,
    ),
    "warn: leaves notes.bin (4.9 KiB): no checkpoint format",
  ]);
  await write("ckpt_5.pt");
  expect(await look()).toEqual([
    "ok: takes ckpt_5.pt as step 5 (2.0 KiB); a restore puts it back at the same place",
    "ok: takes model.h5 as the final model of the run; nothing goes on from it",
    "warn: leaves notes.bin (4.9 KiB): no checkpoint format",
  ]);
});

test("links and settings that are kept with the newest checkpoint are listed", async () => {
  await write("checkpoint-10/model.safetensors");
  await symlink("checkpoint-10", join(folder, "checkpoint-best"));
  await write("tokenizer.json", "{}");
  expect(await look()).toEqual([
    "ok: takes checkpoint-10 as step 10 (2.0 KiB); a restore puts it back at the same place",
    "ok: keeps with checkpoint-10: checkpoint-best -> checkpoint-10, tokenizer.json",
  ]);
});

test("weights that a program saved below the folder after its checkpoints are the final model", async () => {
  await write("checkpoint-10/model.pt");
  const long = new Date(2020, 0, 1);
  await utimes(join(folder, "checkpoint-10/model.pt"), long, long);
  await write("export/model.safetensors");
  await write("export/config.json", "{}");
  expect(await look()).toEqual([
    "ok: takes checkpoint-10 as step 10 (2.0 KiB); a restore puts it back at the same place",
    "ok: takes config.json, model.safetensors of export as the final model of the run; nothing goes on from it",
  ]);
});

test.runIf(process.getuid?.() === 0)(
  "a link to what another user owns is left, unless links are followed",
  async () => {
    await chown(folder, 12_345, 12_345);
    const scratch = await mkdtemp(join(tmpdir(), "tidemark-scratch-"));
    await writeFile(join(scratch, "model.pt"), "x".repeat(2_000));
    await symlink(scratch, join(folder, "checkpoint-10"));
    expect(await look()).toEqual([
      expect.stringMatching(
        /^warn: leaves checkpoint-10: it is a link out of the watched folder, .*--follow-links takes it$/,
      ),
    ]);
    const followed = await checkWatch({ folder, takes: null, followsLinks: true });
    expect(followed[0]?.says).toContain("takes checkpoint-10 as step 10");
    await rm(scratch, { recursive: true });
  },
);

test("a part of a step is waited for", async () => {
  for (const step of [10, 20]) for (const part of ["model", "optim"]) await write(`${part}_${step}.pt`);
  await write("model_30.pt");
  expect(await look()).toContain("warn: waits for model_30.pt as step 30 (2.0 KiB): optim_30.pt is missing");
});

test("where the framework goes on in another folder, that one is named", async () => {
  await write("version_0/checkpoints/epoch=0-step=10.ckpt");
  const watched = join(folder, "version_0/checkpoints");
  expect((await checkWatch({ folder: watched, takes: null })).at(-1)).toMatchObject({
    outcome: "warn",
    says: `the framework makes a new folder in ${folder} at its next start (version_1), because ${watched} is there`,
    fix: `Watch ${folder} instead.`,
  });
});

test("an empty folder and one that is not there are no mistake", async () => {
  expect(await look()).toEqual([`ok: ${folder} holds no checkpoint yet`]);
  await rm(folder, { recursive: true });
  expect(await look()).toEqual([`ok: ${folder} does not exist yet; it is watched as soon as the program makes it`]);
});
