import { join } from "node:path";
import { runName } from "#protocol/base/names.ts";
import { ROOT } from "../stage/start-process.ts";
import { writeCheckpoint } from "../stage/write-checkpoint.ts";
import { expect, expectSound, openSignedIn, seriousFaults, showAs, test } from "./story.ts";

/** A run that a person started from an earlier step, and the final model that its program saved. */

test("the pages tell the newest step from abandoned ones and from the final model, and restore the latter beside", async ({
  page,
  stage,
}) => {
  const folder = stage.folderOf("gpu-1");
  const train = [process.execPath, join(ROOT, "e2e/stage/training-program.ts"), folder, "1"];
  const start = async (flags: string[], program: string[]) => {
    const worker = await stage.startNode({ name: "gpu-1", run: "tiny", flags, program });
    expect(await worker.exited, worker.lines.join("\n")).toMatchObject({ code: 0 });
  };
  for (let step = 10; step <= 30; step += 10) await start([], train);
  await start(["--from", "10"], train);
  const save = `const fs = require("node:fs");
    for (const name of ["model.safetensors", "config.json"])
      fs.copyFileSync(${JSON.stringify(folder)} + "/checkpoint-40/" + name, ${JSON.stringify(folder)} + "/" + name);`;
  writeCheckpoint({ folder, step: 40, modelBytes: 1_000_000, optimizerBytes: 0, loss: 1 });
  await start([], [process.execPath, "-e", save]);
  await stage.startNode({ name: "gpu-2", run: "tiny-too" });

  const { checkpoints } = await stage.client.runs.get.query({ run: runName.parse("tiny") });
  const final = checkpoints.find(({ role }) => role === "final-model");
  expect(final).toMatchObject({ step: 40, state: "complete" });
  await openSignedIn(page, stage);
  await page.goto(`${stage.hub.url}/runs/tiny`);
  const rows = page.getByRole("table", { name: "Checkpoints" }).getByRole("row");
  await expect(rows.filter({ hasText: "final model" })).toHaveCount(1);
  await expect(rows.filter({ hasText: "abandoned" })).toHaveCount(2);
  await expect(rows.filter({ hasText: "newest" })).toHaveCount(1);
  expect(await seriousFaults(page)).toEqual([]);
  await showAs(page, "narrow");
  await expectSound(page, "a run with several lines, dark and narrow");
  await showAs(page, "wide");

  await rows.filter({ hasText: "final model" }).getByRole("link").first().click();
  await expect(page.getByRole("heading", { level: 1 })).toContainText("final model at step 40");
  await page
    .getByRole("button", { name: /^Restore/ })
    .first()
    .click();
  await expect(page.getByRole("dialog", { name: "Restore the final model of tiny" })).toBeVisible();
  // Its folder has no name of a checkpoint: a program in the watched folder must not go on from it.
  await expect(page.getByLabel("Path")).toHaveValue(/\/final-model$/);
});
