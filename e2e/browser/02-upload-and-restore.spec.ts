import { join } from "node:path";
import { waitUntil } from "../stage/wait-until.ts";
import { hashFolder, writeCheckpoint } from "../stage/write-checkpoint.ts";
import { expect, openSignedIn, test } from "./story.ts";

const MIB = 1024 ** 2;

test("an upload appears live, becomes complete, and is restored to another node byte for byte", async ({
  page,
  stage,
}) => {
  await openSignedIn(page, stage);
  await page.goto(`${stage.hub.url}/transfers`);
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();

  await stage.startNode({ name: "gpu-1", run: "llama", flags: ["--limit-up", "6MB"] });
  const own = join(stage.dir, "nodes", "gpu-2");
  await stage.startNode({ name: "gpu-2", run: "idle", env: { TIDEMARK_RESTORE_TO: `${own}:${stage.dir}` } });
  const written = writeCheckpoint({
    folder: stage.folderOf("gpu-1"),
    step: 500,
    modelBytes: 32 * MIB,
    optimizerBytes: 4 * MIB,
    loss: 1.5,
  });

  // No reload: the sentence comes by itself, moves, and goes when the upload is done.
  const sentence = page.getByRole("listitem").filter({ hasText: "500" }).filter({ hasText: "gpu-1" });
  await expect(sentence.first()).toBeVisible();
  await expect(sentence.first()).toContainText(/Mbps/);

  await page.goto(`${stage.hub.url}/runs/llama`);
  await expect(page.getByRole("row").filter({ hasText: "500" }).filter({ hasText: "complete" })).toBeVisible();

  await page.getByRole("button", { name: "Restore" }).first().click();
  const dialog = page.getByRole("dialog");
  await expect(dialog).toContainText("step 500");
  await expect(dialog).toContainText("newest complete");
  // The plan of another node comes late: the path that the cursor is in by then is not exchanged under it.
  const path = dialog.getByLabel("Path");
  const seen = await path.inputValue();
  const late = Promise.withResolvers<void>();
  await page.route(/restores\.plan/, async (route) => {
    await late.promise;
    await route.continue();
  });
  await dialog.getByRole("combobox", { name: "To" }).click();
  await page.getByRole("option", { name: /gpu-2/ }).click();
  await path.focus();
  const answered = page.waitForResponse(/restores\.plan/);
  late.resolve();
  await answered;
  await expect(dialog).toContainText(/gpu-2/);
  await expect(path).toHaveValue(seen);
  await path.blur();
  await expect(path).toHaveValue(join(own, "llama", "step-500"));
  const target = join(stage.dir, "restored", "checkpoint-500");
  await path.fill(target);
  await expect(dialog).toContainText("You can close this page.");
  await path.press("Enter");
  await expect(dialog).toContainText("Restored and verified");
  expect(hashFolder(target)).toEqual(hashFolder(written));
});

test("the dialog arrives filled: open, Enter, restored", async ({ page, stage }) => {
  await stage.startNode({ name: "gpu-1", run: "llama" });
  const written = writeCheckpoint({
    folder: stage.folderOf("gpu-1"),
    step: 7,
    modelBytes: 4 * MIB,
    optimizerBytes: 0,
    loss: 1,
  });
  await waitUntil("the checkpoint is complete", async () =>
    (await stage.client.runs.list.query()).some((one) => one.complete === 1),
  );
  await openSignedIn(page, stage);
  await page.goto(`${stage.hub.url}/runs/llama`);
  await page.getByRole("button", { name: "Restore" }).first().click();
  const dialog = page.getByRole("dialog");
  const path = await dialog.getByLabel("Path").inputValue();
  expect(path.startsWith("/")).toBe(true);
  await expect(dialog.getByRole("button", { name: /^Restore/ })).toBeEnabled();
  await page.keyboard.press("Enter");
  await expect(dialog).toContainText("Restored and verified");
  expect(hashFolder(path)).toEqual(hashFolder(written));
});
