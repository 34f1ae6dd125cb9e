import { mkdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { runName } from "#protocol/base/names.ts";
import { expect, expectSound, openSignedIn, seriousFaults, showAs, test } from "./story.ts";

/** A file of Lightning is shown where it lay, and a person who restores it finds it under its own name. */

const NAME = "epoch=5-step=600.ckpt";
const PLACE = `lightning_logs/version_0/checkpoints/${NAME}`;

test("a run with checkpoints in two folders shows both lines, and which one is trained now", async ({
  page,
  stage,
}) => {
  const folder = stage.folderOf("gpu-1");
  for (const [version, step] of [
    [0, 300],
    [1, 20],
  ]) {
    const at = join(folder, `lightning_logs/version_${version}/checkpoints/epoch=0-step=${step}.ckpt`);
    const save = `const fs = require("node:fs"), at = ${JSON.stringify(at)};
      fs.mkdirSync(require("node:path").dirname(at), { recursive: true });
      fs.writeFileSync(at, "state of ${step}");`;
    const program = [process.execPath, "-e", save];
    const worker = await stage.startNode({ name: "gpu-1", run: "two-lines", program, flags: ["--settle", "50ms"] });
    expect(await worker.exited, worker.lines.join("\n")).toMatchObject({ code: 0 });
  }
  await openSignedIn(page, stage);
  await page.goto(`${stage.hub.url}/runs/two-lines`);
  const lines = page.getByRole("list", { name: "Lines" }).getByRole("listitem");
  await expect(lines).toHaveText([
    /version_1\/checkpoints.*step 20.*trained now/,
    /version_0\/checkpoints.*step 300.*earlier/,
  ]);
  await expectSound(page, "a run with two lines, light and wide");
  await showAs(page, "narrow");
  await expectSound(page, "a run with two lines, dark and narrow");
  await showAs(page, "wide");
  await page.goto(`${stage.hub.url}/nodes`);
  await page.getByRole("link", { name: "gpu-1" }).first().click();
  const row = page.getByRole("table", { name: "Runs of this node" }).getByRole("row", { name: /two-lines/ });
  await expect(row).toContainText(", in lightning_logs/version_1/checkpoints");
  await expectSound(page, "a node that writes the second of two lines, dark and wide");
  await showAs(page, "narrow");
  await expectSound(page, "a node that writes the second of two lines, dark and narrow");
});

test("a Lightning file is restored by hand and lies on the disk under its own name, as a file", async ({
  page,
  stage,
}) => {
  const folder = stage.folderOf("gpu-1");
  mkdirSync(folder, { recursive: true });
  const save = `const fs = require("node:fs"), at = ${JSON.stringify(join(folder, PLACE))};
    fs.mkdirSync(require("node:path").dirname(at), { recursive: true });
    fs.writeFileSync(at, "x".repeat(2_000_000));`;
  const program = [process.execPath, "-e", save];
  const worker = await stage.startNode({ name: "gpu-1", run: "llama", program, flags: ["--settle", "50ms"] });
  expect(await worker.exited, worker.lines.join("\n")).toMatchObject({ code: 0 });
  await stage.startNode({ name: "gpu-2", run: "idle" });

  await openSignedIn(page, stage);
  await page.goto(`${stage.hub.url}/runs/llama`);
  const rows = page.getByRole("table", { name: "Checkpoints" }).getByRole("row");
  await expect(rows.filter({ hasText: "complete" })).toContainText(`…/${NAME}`);
  await showAs(page, "narrow");
  await expectSound(page, "a run whose checkpoint is a file, dark and narrow");
  await showAs(page, "wide");

  await rows.filter({ hasText: "complete" }).getByRole("link").first().click();
  await expect(page.getByText(PLACE)).toBeVisible();
  expect(await seriousFaults(page)).toEqual([]);
  await showAs(page, "narrow");
  await expectSound(page, "a checkpoint that is a file, dark and narrow");
  await showAs(page, "wide");

  await page
    .getByRole("button", { name: /^Restore/ })
    .first()
    .click();
  const dialog = page.getByRole("dialog");
  const path = dialog.getByLabel("Path");
  // Outside of training folders it lies in a folder of its step, under its own name.
  await expect(path).toHaveValue(/\/llama\/step-600$/);
  await expect(dialog).toContainText(`with ${NAME} in it`);
  await dialog.getByRole("combobox", { name: "To" }).click();
  await page.getByRole("option", { name: /gpu-2/ }).click();
  await dialog.getByRole("button", { name: "Training folder", exact: true }).click();
  await expect(path).toHaveValue(/gpu-2/);
  await expect(path).toHaveValue(new RegExp(`/${NAME.replaceAll(".", "\\.")}$`));
  const put = dialog.getByText(/^the (file|folder) /);
  await expect(put).toHaveText(new RegExp(`^the file ${NAME.replaceAll(".", "\\.")} in /.*gpu-2`));
  for (const width of ["narrow", "wide"] as const) {
    await showAs(page, width);
    await expectSound(page, `the dialog that says where a file is put, dark and ${width}`);
  }
  const target = join(stage.dir, "by-hand", NAME);
  mkdirSync(dirname(target), { recursive: true });
  await path.fill(join(dirname(target), "best"));
  await expect(put).toHaveText(`the folder best in ${dirname(target)}`);
  await expect(dialog).toContainText(`with ${NAME} in it: the path has another name`);
  await path.fill(target);
  await expect(put).toHaveText(`the file ${NAME} in ${dirname(target)}`);
  await path.press("Enter");
  await expect(dialog).toContainText("Restored and verified");
  expect(statSync(target).isFile()).toBe(true);
  expect(readFileSync(target).equals(readFileSync(join(folder, PLACE)))).toBe(true);
  const { checkpoints } = await stage.client.runs.get.query({ run: runName.parse("llama") });
  expect(checkpoints[0]?.place).toEqual({ path: PLACE, kind: "file", stepSource: "name" });
});
