import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { runName } from "#protocol/base/names.ts";
import { hashObject } from "../stage/hash-object.ts";
import { letPagesIn } from "../stage/let-pages-in.ts";
import { armFault, clearFaults, readCounters, resetCounters } from "../stage/store-control.ts";

import { waitComplete } from "../stage/wait-complete.ts";
import { hashFolder, writeCheckpoint } from "../stage/write-checkpoint.ts";
import { openUpload, standInPickers, writeFiles } from "./browser-files.ts";
import { expect, expectSound, openSignedIn, seriousFaults, test } from "./story.ts";

/**
 * Browser <-> bucket. The files stand in the browser's own file system (OPFS), whose handles outlive a reload as those of
 * the real one do; nobody can drive the system's pickers from here, so these give what lies there.
 */

const MIB = 1024 ** 2;

test("a folder is dropped, paused, reloaded, goes on without sending again what arrived, and is there byte for byte", async ({
  page,
  stage,
}) => {
  await standInPickers(page);
  await letPagesIn(stage);
  await openSignedIn(page, stage);
  const sums = await writeFiles(page, { "weights.bin": 64 * MIB + 17, "config.json": 700, "empty.txt": 0 });
  // Slow enough that it can be stopped in the middle.
  const throttle = { op: "UploadPart", action: { kind: "rate", side: "request", bytesPerSecond: 300_000 } };
  await armFault(stage.store, throttle);
  await openUpload(page, stage);
  const dialog = page.getByRole("dialog");
  expect(await seriousFaults(page)).toEqual([]);
  const transfer = await page.evaluateHandle(() => {
    const given = new DataTransfer();
    given.items.add(new File(["x"], "dataset"));
    return given;
  });
  await dialog
    .getByRole("region", { name: "Drop files or folders here" })
    .dispatchEvent("drop", { dataTransfer: transfer });
  await expect(dialog).toContainText("3 files, 64.0 MiB");
  await dialog.getByRole("button", { name: "Upload", exact: true }).click();

  const panel = page.getByRole("region", { name: "This browser" });
  const line = panel.getByRole("listitem", { name: "upload of 3 files" });
  const succeeded = async (operation: string) =>
    (await readCounters(stage.store, operation)).targets.reduce((sum, one) => sum + one.succeeded, 0);
  const stored = () => succeeded("UploadPart");
  await expect.poll(stored).toBeGreaterThanOrEqual(3);
  await expect(page).toHaveTitle(/^\d+% ↑ /);
  expect(await seriousFaults(page)).toEqual([]);
  await line.getByRole("button", { name: "Pause" }).click();
  await expect(line).toContainText("paused");
  const before = await stored();

  await page.reload();
  await expect(line).toContainText("paused");
  await clearFaults(stage.store);
  await line.getByRole("button", { name: "Resume" }).click();
  await expect(line).toContainText("done");
  await expect(line).toContainText("not sent again");
  const parts = Math.ceil((64 * MIB + 17) / (5 * MIB));
  expect(await stored()).toBe(parts);
  expect(before).toBeGreaterThanOrEqual(3);
  for (const [name, sum] of Object.entries(sums)) expect(await hashObject(stage, `up/dataset/${name}`), name).toBe(sum);

  // The same once more: nothing is sent, because the store has the same bytes.
  await resetCounters(stage.store);
  await openUpload(page, stage);
  await page.getByRole("dialog").getByRole("button", { name: "Choose a folder" }).click();
  await expect(page.getByRole("dialog")).toContainText("3 files");
  await page.getByRole("dialog").getByRole("button", { name: "Upload", exact: true }).click();
  await expect(line.first()).toContainText("3 already there");
  expect(await stored()).toBe(0);
  expect(await succeeded("PutObject")).toBe(0);

  await page.setViewportSize({ width: 360, height: 800 });
  await page.emulateMedia({ colorScheme: "dark" });
  await expectSound(page);
});

test("a file that changed on disk while its upload was paused becomes no object, and it is said", async ({
  page,
  stage,
}) => {
  await standInPickers(page);
  await letPagesIn(stage);
  await openSignedIn(page, stage);
  await writeFiles(page, { "weights.bin": 64 * MIB });
  const throttle = { op: "UploadPart", action: { kind: "rate", side: "request", bytesPerSecond: 300_000 } };
  await armFault(stage.store, throttle);
  await openUpload(page, stage);
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "Choose a folder" }).click();
  await expect(dialog).toContainText("1 file");
  await dialog.getByRole("button", { name: "Upload", exact: true }).click();
  const line = page
    .getByRole("region", { name: "This browser" })
    .getByRole("listitem", { name: /^upload of / })
    .first();
  const succeeded = async (operation: string) =>
    (await readCounters(stage.store, operation)).targets.reduce((sum, one) => sum + one.succeeded, 0);
  await expect.poll(() => succeeded("UploadPart")).toBeGreaterThanOrEqual(2);
  await line.getByRole("button", { name: "Pause" }).click();
  await expect(line).toContainText("paused");

  await writeFiles(page, { "weights.bin": 64 * MIB });
  await clearFaults(stage.store);
  await line.getByRole("button", { name: "Resume" }).click();
  await expect(line).toContainText("1 failed");
  await line.getByText("Files", { exact: true }).click();
  await expect(page.getByText("The file changed while it was being read.").first()).toBeVisible();
  expect(await succeeded("CompleteMultipartUpload")).toBe(0);
});

test("a tab that goes away in the middle is followed by another one, which goes on", async ({
  page,
  stage,
  context,
}) => {
  await standInPickers(page);
  await letPagesIn(stage);
  await openSignedIn(page, stage);
  const sums = await writeFiles(page, { "weights.bin": 40 * MIB });
  await armFault(stage.store, {
    op: "UploadPart",
    action: { kind: "rate", side: "request", bytesPerSecond: 1_500_000 },
  });
  await openUpload(page, stage);
  await page.getByRole("dialog").getByRole("button", { name: "Choose a folder" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Upload", exact: true }).click();
  const other = await context.newPage();
  await other.goto(`${stage.hub.url}/transfers`);
  const line = other.getByRole("listitem", { name: "upload of dataset/weights.bin" });
  await expect(line).toContainText("in another tab");
  await page.close({ runBeforeUnload: false });
  await clearFaults(stage.store);
  await expect(line).toContainText("done");
  expect(await hashObject(stage, "up/dataset/weights.bin")).toBe(sums["weights.bin"]);
});

test.describe("a bucket that lets no page in", () => {
  // The browser itself writes each refused request to the console.
  test.use({ expectedErrors: [/CORS policy|net::ERR_FAILED/] });
  test("is named as such, and the rule that is missing is one button away", async ({ page, stage }) => {
    await standInPickers(page);
    await openSignedIn(page, stage);
    await writeFiles(page, { "a.bin": 1000 });
    await openUpload(page, stage);
    await page.getByRole("dialog").getByRole("button", { name: "Choose a folder" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Upload", exact: true }).click();
    const line = page.getByRole("listitem", { name: "upload of dataset/a.bin" });
    await expect(line).toContainText("does not allow requests of this page");
    expect(await seriousFaults(page)).toEqual([]);
    await line.getByRole("link", { name: "Set the CORS rule…" }).click();
    await page.getByRole("button", { name: "Write CORS" }).click();
    await expect(page.getByText("Written, read back, and confirmed by a browser's preflight request.")).toBeVisible();
    await page.goto(`${stage.hub.url}/transfers`);
    await line.getByRole("button", { name: "Try again" }).click();
    await expect(line).toContainText("done");
  });
});

test("a file comes in parallel ranges to the disk and a folder as tar, byte for byte, and it is said how", async ({
  page,
  stage,
}) => {
  await standInPickers(page);
  await letPagesIn(stage);
  const run = runName.parse("llama-8b");
  await stage.startNode({ name: "gpu-1", run });
  const folder = writeCheckpoint({
    folder: stage.folderOf("gpu-1"),
    step: 500,
    modelBytes: 40 * MIB,
    optimizerBytes: 1 * MIB,
    loss: 1.5,
  });
  const checkpoint = await waitComplete(stage, run);
  await openSignedIn(page, stage);
  await page.goto(`${stage.hub.url}/checkpoints/${checkpoint.id}`);
  await page.getByRole("button", { name: "Download", exact: true }).click();
  await page.getByRole("button", { name: "Download model.safetensors" }).click();
  await page.getByRole("link", { name: "Transfers", exact: true }).first().click();
  const panel = page.getByRole("region", { name: "This browser" });
  const whole = panel.getByRole("listitem", { name: "download of llama-8b-step-500.tar" });
  const one = panel.getByRole("listitem", { name: "download of model.safetensors" });
  for (const line of [whole, one]) {
    await expect(line).toContainText("checksums agree");
    await expect(line).toContainText("straight to the disk");
  }
  expect(await seriousFaults(page)).toEqual([]);
  const saved = (name: string) =>
    page.evaluate(async (asked) => {
      const file = await (await (await navigator.storage.getDirectory()).getFileHandle(asked)).getFile();
      return Array.from(new Uint8Array(await crypto.subtle.digest("SHA-256", await file.arrayBuffer())), (byte) =>
        byte.toString(16).padStart(2, "0"),
      ).join("");
    }, name);
  const model = readFileSync(join(folder, "model.safetensors"));
  expect(await saved("saved-model.safetensors")).toBe(createHash("sha256").update(model).digest("hex"));
  // The archive as the tar of the system reads it.
  const archive = await page.evaluate(async () => {
    const file = await (
      await (await navigator.storage.getDirectory()).getFileHandle("saved-llama-8b-step-500.tar")
    ).getFile();
    const reader = new FileReader();
    return new Promise<string>((resolve) => {
      reader.addEventListener("load", () =>
        resolve(typeof reader.result === "string" ? (reader.result.split(",", 2)[1] ?? "") : ""),
      );
      reader.readAsDataURL(file);
    });
  });
  const out = mkdtempSync(join(stage.dir, "tar-"));
  execFileSync("tar", ["-x", "-C", out], { input: Buffer.from(archive, "base64") });
  expect(hashFolder(out)).toEqual(hashFolder(folder));
});

test("where no page may write files, the browser's own downloads take the stream, and it is said", async ({
  page,
  stage,
}) => {
  await page.addInitScript(() => Reflect.deleteProperty(globalThis, "showSaveFilePicker"));
  await letPagesIn(stage);
  const run = runName.parse("llama-8b");
  await stage.startNode({ name: "gpu-1", run });
  const folder = writeCheckpoint({
    folder: stage.folderOf("gpu-1"),
    step: 500,
    modelBytes: 24 * MIB,
    optimizerBytes: 1 * MIB,
    loss: 1.5,
  });
  const checkpoint = await waitComplete(stage, run);
  await openSignedIn(page, stage);
  await page.goto(`${stage.hub.url}/checkpoints/${checkpoint.id}`);
  const coming = page.waitForEvent("download");
  await page.getByRole("button", { name: "Download", exact: true }).click();
  const download = await coming;
  expect(download.suggestedFilename()).toBe("llama-8b-step-500.tar");
  await page.getByRole("link", { name: "Transfers", exact: true }).first().click();
  const line = page.getByRole("listitem", { name: "download of llama-8b-step-500.tar" });
  await expect(line).toContainText("checksums agree");
  await expect(line).toContainText("in order through the browser's own downloads");
  const out = mkdtempSync(join(stage.dir, "tar-"));
  execFileSync("tar", ["-xf", await download.path(), "-C", out]);
  expect(hashFolder(out)).toEqual(hashFolder(folder));
});

test("a thousand small files dropped at once all arrive, and only those on the screen are drawn", async ({
  page,
  stage,
}) => {
  const count = 1_000;
  await page.addInitScript(() => Reflect.set(DataTransferItem.prototype, "getAsFileSystemHandle", async () => null));
  await letPagesIn(stage);
  await openSignedIn(page, stage);
  await openUpload(page, stage);
  const given = await page.evaluateHandle((files) => {
    const transfer = new DataTransfer();
    for (let index = 0; index < files; index++) transfer.items.add(new File([`file ${index}`], `${index}.txt`));
    return transfer;
  }, count);
  const dialog = page.getByRole("dialog");
  await dialog
    .getByRole("region", { name: "Drop files or folders here" })
    .dispatchEvent("drop", { dataTransfer: given });
  await expect(dialog).toContainText("1,000 files");
  await dialog.getByRole("button", { name: "Upload", exact: true }).click();
  const line = page.getByRole("listitem", { name: "upload of 1,000 files" });
  await line.getByText("Files", { exact: true }).click();
  const rows = line.getByRole("list", { name: "Files" }).getByRole("listitem");
  await expect(rows.first()).toContainText("0.txt");
  expect(await rows.count()).toBeLessThan(80);
  await expect(page).toHaveTitle(/^\d+% ↑ /);
  // Leaving is warned of while bytes move.
  const prevented = await page.evaluate(() => !window.dispatchEvent(new Event("beforeunload", { cancelable: true })));
  expect(prevented).toBe(true);
  await expect(page).not.toHaveTitle(/↑/, { timeout: 600_000 });
  const stored = await stage.client.browserTransfers.folder.query({
    profileId: stage.profileId,
    prefix: "up/",
    cursor: null,
  });
  expect(stored.files.length).toBe(count);
});
