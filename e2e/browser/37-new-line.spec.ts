import { join } from "node:path";
import { expect, expectSound, openSignedIn, showAs, test } from "./story.ts";

/** A program that does not go on from what was restored: told on every page, with its new line, until a person dismisses it. */

test("a restored checkpoint that a program passed over is told on the pages of run and node and as an alert, until it is dismissed", async ({
  page,
  stage,
}) => {
  const train = async (name: string, step: number) => {
    const file = join(stage.folderOf(name), `ckpt_${step}.pt`);
    const script = `require("node:fs").writeFileSync(${JSON.stringify(file)}, "weights at ${step}")`;
    const program = [process.execPath, "-e", script];
    const worker = await stage.startNode({ name, run: "llama", program, flags: ["--settle", "50ms"] });
    expect((await worker.exited).code, worker.lines.join("\n")).toBe(0);
  };
  await train("gpu-1", 200);
  await train("gpu-2", 50);

  await openSignedIn(page, stage);
  await page.goto(`${stage.hub.url}/runs/llama`);
  const words =
    /The program on gpu-2 was given step 200 and began at the beginning: it wrote ckpt_50\.pt beside .*ckpt_200\.pt, with a name of the same form, so it most likely loads no checkpoint\./;
  await expect(page.getByText(words)).toBeVisible();
  await expect(
    page.getByText("Retention removes nothing of epoch 1 and before until the run passes step 200"),
  ).toBeVisible();
  await expect(page.getByText("Epoch 3 is a new line of training.")).toBeVisible();
  await expect(
    page.getByText("It counts from step 50; its program was given step 200 of epoch 1. A restore takes its newest"),
  ).toBeVisible();
  await expectSound(page, "a run whose program passed a checkpoint over");
  await showAs(page, "narrow");
  await expectSound(page, "a run whose program passed a checkpoint over, narrow");
  await showAs(page, "wide");

  await page.goto(`${stage.hub.url}/alerts`);
  await expect(page.getByText(/gpu-2 saw that the program of llama was given step 200/)).toBeVisible();
  await page.goto(`${stage.hub.url}/nodes/gpu-2`);
  await expect(page.getByText("its program did not continue from step 200")).toBeVisible();
  await expectSound(page, "a node whose program passed a checkpoint over");
  await showAs(page, "narrow");
  await expect(page.getByText("its program did not continue from step 200")).toBeVisible();
  await expectSound(page, "a node whose program passed a checkpoint over, narrow");
  await showAs(page, "wide");

  await page.goto(`${stage.hub.url}/runs/llama`);
  await page.getByRole("button", { name: "Dismiss" }).click();
  await expect(page.getByText(words)).toHaveCount(0);
  await expect(page.getByText("Epoch 3 is a new line of training.")).toBeVisible();
  await page.getByRole("table", { name: "Checkpoints" }).getByRole("link").first().click();
  await expect(page.getByText("a new line: it counts from step 50")).toBeVisible();
  await expect(page.getByText("a file in the watched folder; a restore puts it back there")).toBeVisible();
});
