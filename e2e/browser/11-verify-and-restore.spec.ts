import { readFileSync } from "node:fs";
import { join } from "node:path";
import { readPlainly } from "#storage/testing/plain-safetensors.ts";
import { armFault, clearFaults } from "../stage/store-control.ts";
import { waitUntil } from "../stage/wait-until.ts";
import { hashFolder, writeCheckpoint } from "../stage/write-checkpoint.ts";
import { expect, expectSound, openSignedIn, seriousFaults, showAs, test } from "./story.ts";

/** A checkpoint is read back, found damaged and found whole again; parts of it and all of it go to other folders and nodes. */

const MIB = 1024 ** 2;

test("verify, a damaged object found and shown, one file to another path, all files to two nodes", async ({
  page,
  stage,
}) => {
  await stage.startNode({ name: "gpu-1", run: "llama" });
  for (const name of ["gpu-2", "gpu-3"]) await stage.startNode({ name, run: `idle-${name}` });
  const folder = stage.folderOf("gpu-1");
  const complete = (count: number) =>
    waitUntil(`${count} checkpoints are complete`, async () =>
      (await stage.client.runs.list.query()).some((one) => one.name === "llama" && one.complete === count),
    );
  writeCheckpoint({ folder, step: 400, modelBytes: 4 * MIB, optimizerBytes: MIB, loss: 2 });
  await complete(1);
  const written = writeCheckpoint({ folder, step: 500, modelBytes: 4 * MIB, optimizerBytes: MIB, loss: 1 });
  await complete(2);
  const { checkpoints } = await stage.client.runs.get.query({ run: "llama" });
  const newest = checkpoints.find(({ step }) => step === 500);
  const files = (await stage.client.checkpoints.get.query({ id: newest?.id ?? "" })).files.map(({ path }) => path);
  const model = files.find((path) => path.endsWith(".safetensors")) ?? "";
  await openSignedIn(page, stage);
  await page.goto(`${stage.hub.url}/checkpoints/${newest?.id}`);

  // Every byte is right.
  await expect(page.getByText("Never verified")).toBeVisible();
  await page.getByRole("button", { name: "Verify" }).click();
  await expect(page.getByText(/verified (now|\d)/).first()).toBeVisible();
  expect(await seriousFaults(page)).toEqual([]);

  // The store gives other bytes than were committed, of one file.
  await armFault(stage.store, {
    op: "GetObject",
    keyPattern: `*${model}`,
    action: { kind: "flip", side: "response", offset: 100 },
  });
  await page.getByRole("button", { name: "Verify" }).click();
  await expect(page.getByText("Damaged: bytes in the bucket")).toBeVisible();
  await expect(page.getByRole("list", { name: "Damaged" })).toContainText(`${model}, bytes 0 to`);
  expect(await seriousFaults(page)).toEqual([]);
  await page.screenshot({ path: "test-results/verify-damaged.png", fullPage: true });
  await showAs(page, "narrow");
  await expectSound(page);
  await page.screenshot({ path: "test-results/verify-damaged-narrow.png", fullPage: true });

  // Where it is offered for a restore it says so, and offers the step before.
  await page.getByRole("button", { name: "Restore" }).first().click();
  const dialog = page.getByRole("dialog");
  await expect(dialog).toContainText("The checkpoint is damaged");
  await expect(dialog.getByRole("button", { name: /^Restore/ })).toBeDisabled();
  expect(await seriousFaults(page)).toEqual([]);
  await page.screenshot({ path: "test-results/restore-damaged-narrow.png" });
  await showAs(page, "wide");

  // A file that is right can still be fetched, to another path.
  const other = files.find((path) => path !== model) ?? "";
  const part = join(stage.dir, "part", "only-this");
  await dialog.getByRole("combobox", { name: "To" }).click();
  await page.getByRole("option", { name: /gpu-2/ }).click();
  await dialog.getByRole("button", { name: "Choose files" }).click();
  await expect(dialog.getByRole("checkbox", { name: new RegExp(model) })).toBeDisabled();
  await dialog.getByRole("checkbox", { name: new RegExp(other) }).check();
  await dialog.getByLabel("Path").fill(part);
  await expect(dialog).toContainText("1 file");
  await dialog.getByRole("button", { name: "Dry run" }).click();
  await expect(dialog).toContainText("It would be restored.");
  await page.screenshot({ path: "test-results/restore-part.png" });
  await dialog.getByRole("button", { name: /^Restore/ }).click();
  await expect(dialog).toContainText("Restored and verified: 1 file");
  expect(Object.keys(hashFolder(part))).toEqual([other]);
  expect(hashFolder(part)[other]).toBe(hashFolder(written)[other]);
  await page.keyboard.press("Escape");

  // Mended, it is whole again.
  await clearFaults(stage.store);
  await page.getByRole("button", { name: "Verify" }).click();
  await expect(page.getByText("Damaged: bytes in the bucket")).toHaveCount(0);
  await expect(page.getByText(/verified (now|\d)/).first()).toBeVisible();

  // Some tensors of one file, counted as they are typed.
  await page.getByRole("button", { name: "Restore" }).first().click();
  const cut = join(stage.dir, "part", "tensors");
  await dialog.getByRole("combobox", { name: "To" }).click();
  await page.getByRole("option", { name: /gpu-2/ }).click();
  await dialog.getByRole("button", { name: "Choose files" }).click();
  await dialog.getByRole("checkbox", { name: new RegExp(`^${model}`) }).check();
  await dialog.getByRole("button", { name: "Choose tensors" }).click();
  const typed = dialog.getByRole("textbox", { name: "Tensors" });
  await typed.fill("model.norm.*");
  await expect(dialog).toContainText("no tensor fits it; there are model.layers.0.weight");
  await typed.fill("model.layers.{0,2");
  await expect(dialog).toContainText("a { is never closed");
  await typed.fill("model.layers.{0,2}.weight");
  await expect(dialog.getByRole("status", { name: "Tensors chosen" })).toContainText("2 tensors, 2.0 MiB");
  expect(await seriousFaults(page)).toEqual([]);
  await dialog.getByLabel("Path").fill(cut);
  await page.screenshot({ path: "test-results/restore-tensors.png" });
  await showAs(page, "narrow");
  await expectSound(page);
  await typed.scrollIntoViewIfNeeded();
  await page.screenshot({ path: "test-results/restore-tensors-narrow.png" });
  await showAs(page, "wide");
  await dialog.getByRole("button", { name: /^Restore/ }).click();
  await expect(dialog).toContainText("Restored and verified: 2 tensors in 1 file, 2.0 MiB");
  const names = readPlainly(readFileSync(join(cut, model))).tensors.map(({ name }) => name);
  expect(names).toEqual(["model.layers.0.weight", "model.layers.2.weight"]);
  await page.keyboard.press("Escape");

  // All of it, to two nodes, one after the other: here they share a disk.
  await stage.client.restores.setCap.mutate({ profileId: stage.profileId, atOnce: 1 });
  await page.getByRole("button", { name: "Restore" }).first().click();
  const target = join(stage.dir, "whole", "checkpoint-500");
  await dialog.getByRole("combobox", { name: "To" }).click();
  await page.getByRole("option", { name: /gpu-2/ }).click();
  await dialog.getByRole("checkbox", { name: "Restore to several nodes" }).check();
  await dialog.getByRole("checkbox", { name: /gpu-3/ }).check();
  await expect(dialog).toContainText("2 nodes");
  await dialog.getByLabel("Path").fill(target);
  await page.screenshot({ path: "test-results/restore-many.png" });
  expect(await seriousFaults(page)).toEqual([]);
  await dialog.getByRole("button", { name: /^Restore/ }).click();
  await expect(dialog).toContainText("Restored and verified on 2 of 2 nodes.");
  expect(hashFolder(target)).toEqual(hashFolder(written));
  await page.keyboard.press("Escape");

  // Restores are rehearsed every week from now on, and the first time at once.
  await page.goto(`${stage.hub.url}/runs/llama`);
  await page.getByRole("combobox", { name: "How often restores are rehearsed" }).click();
  await page.getByRole("option", { name: "Every week", exact: true }).click();
  await expect(page.getByRole("list", { name: "Drills" })).toContainText("restore drill");
  await expect(page.getByText(/The next one comes in/)).toBeVisible();
  expect(await seriousFaults(page)).toEqual([]);
  await page.screenshot({ path: "test-results/drills.png", fullPage: true });
});
