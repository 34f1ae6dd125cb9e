import { join } from "node:path";
import { waitUntil } from "../stage/wait-until.ts";
import { hashFolder, writeCheckpoint } from "../stage/write-checkpoint.ts";
import { expect, expectSound, openSignedIn, seriousFaults, showAs, test } from "./story.ts";

/** A restore by hand goes outside of watched folders; the training folder is the second offer, with what it means said first. */

test("a restore goes outside of training folders unless somebody chooses one, told what that replaces", async ({
  page,
  stage,
}) => {
  const own = (name: string) => join(stage.dir, "nodes", name);
  const start = (name: string, run: string) => stage.startNode({ name, run, env: { TIDEMARK_RESTORE_TO: own(name) } });
  await start("gpu-1", "llama");
  await start("gpu-2", "other");
  const written = writeCheckpoint({
    folder: stage.folderOf("gpu-1"),
    step: 200,
    modelBytes: 1024 ** 2,
    optimizerBytes: 0,
    loss: 1,
  });
  await waitUntil("the checkpoint is complete", async () =>
    (await stage.client.runs.list.query()).some((one) => one.complete === 1),
  );
  // The node says with its next report that it wrote.
  const [checkpoint] = (await stage.client.runs.get.query({ run: "llama" })).checkpoints;
  const asked = { checkpointId: checkpoint?.id ?? "", nodeId: null, choice: null };
  await waitUntil("gpu-1 is known to train", async () =>
    (await stage.client.restores.plan.query(asked)).candidates.some(({ training }) => training === "training llama"),
  );
  await openSignedIn(page, stage);
  await page.goto(`${stage.hub.url}/runs/llama`);
  const dialog = page.getByRole("dialog");
  const open = () => page.getByRole("button", { name: "Restore" }).first().click();
  const choose = async (node: RegExp) => {
    await dialog.getByRole("combobox", { name: "To" }).click();
    await page.getByRole("option", { name: node }).click();
  };

  // No node that trains or watches is called idle.
  await open();
  await dialog.getByRole("combobox", { name: "To" }).click();
  await expect(page.getByRole("option", { name: /gpu-1/ })).toContainText("training llama");
  await expect(page.getByRole("option").filter({ hasText: "idle" })).toHaveCount(0);
  await page.getByRole("option", { name: /gpu-1/ }).click();

  // Outside of the watched folder by itself; the other place says what it means before the button is pressed.
  const path = dialog.getByLabel("Path");
  await expect(path).toHaveValue(join(own("gpu-1"), "llama", "step-200"));
  await expect(dialog.getByRole("alert")).toHaveCount(0);
  await expect(dialog).toContainText("In the training folder: llama is training here");
  const places = dialog.getByRole("group", { name: "Place" });
  await expect(places.getByRole("button", { pressed: true })).toHaveText("Outside training folders");
  await places.getByRole("button", { name: "Training folder", exact: true }).click();
  await expect(places.getByRole("button", { pressed: true })).toHaveText("Training folder");
  await expect(path).toHaveValue(join(stage.folderOf("gpu-1"), "checkpoint-200"));
  await expect(dialog.getByRole("alert")).toContainText("replaces checkpoint-200 if it is there");
  expect(await seriousFaults(page)).toEqual([]);
  await page.screenshot({ path: "test-results/restore-places.png" });
  await showAs(page, "narrow");
  await expectSound(page);
  await page.screenshot({ path: "test-results/restore-places-narrow.png" });
  await showAs(page, "wide");
  await dialog.getByRole("button", { name: "Outside training folders" }).click();
  await expect(dialog.getByRole("alert")).toHaveCount(0);
  // A wrong path is said once, at its field, and forgotten with the next change.
  await path.fill("step-200");
  await path.press("Enter");
  await expect(dialog.getByText("an absolute folder on the node")).toHaveCount(1);
  await expect(path).toBeFocused();
  await path.fill(join(own("gpu-1"), "llama", "step-200"));
  await expect(dialog.getByText("an absolute folder on the node")).toHaveCount(0);
  await dialog.getByRole("button", { name: /^Restore/ }).click();
  await expect(dialog).toContainText("Restored and verified");
  expect(hashFolder(join(own("gpu-1"), "llama", "step-200"))).toEqual(hashFolder(written));
  await page.keyboard.press("Escape");

  // Several nodes: each into its own folder.
  await open();
  await choose(/gpu-1/);
  await dialog.getByRole("checkbox", { name: "Restore to several nodes" }).check();
  await dialog.getByRole("checkbox", { name: /gpu-2/ }).check();
  await expect(dialog).toContainText("Each node uses its own folder for restores");
  await dialog.getByRole("button", { name: /^Restore/ }).click();
  await expect(dialog).toContainText("Restored and verified on 2 of 2 nodes.");
  expect(hashFolder(join(own("gpu-2"), "llama", "step-200"))).toEqual(hashFolder(written));
});
