import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runName } from "#protocol/base/names.ts";
import { waitUntil } from "../stage/wait-until.ts";
import { layersOf, writeSafetensors } from "../stage/write-checkpoint.ts";
import { expect, expectSound, openSignedIn, showAs, test } from "./story.ts";

/** A checkpoint that may not be whole is kept safe, is shown as that everywhere, and the one before stays the newest. */

const WHY = "shards-00001-of-00002.safetensors, named by shards.safetensors.index.json, is missing";
const INDEX = JSON.stringify({ weight_map: { w: "shards-00001-of-00002.safetensors" } });

/** Program that leaves half of a final model in its folder. */
const halfFinal = (folder: string): string => {
  const index = JSON.stringify({ weight_map: { a: "model-00001-of-00002.safetensors" } });
  return `const fs = require("node:fs");
    process.chdir(${JSON.stringify(folder)});
    fs.writeFileSync("config.json", "{}");
    fs.writeFileSync("model.safetensors.index.json", ${JSON.stringify(index)});
    fs.writeFileSync("model-00002-of-00002.safetensors", Buffer.concat([Buffer.from([2, 0, 0, 0, 0, 0, 0, 0]), Buffer.from("{}")]));`;
};

test("a doubtful checkpoint or final model is told from a whole one on the pages of its run, its node, itself and the alerts", async ({
  page,
  stage,
}) => {
  const folder = stage.folderOf("gpu-1");
  const write = (step: number, more: Record<string, string>): void => {
    const path = join(folder, `checkpoint-${step}`);
    mkdirSync(path, { recursive: true });
    writeSafetensors(join(path, "model.safetensors"), layersOf(64 * 1024));
    writeFileSync(join(path, "trainer_state.json"), JSON.stringify({ global_step: step }));
    for (const [name, text] of Object.entries(more)) writeFileSync(join(path, name), text);
  };
  await stage.startNode({ name: "gpu-1", run: "llama", flags: ["--unfinished-after", "3s", "--settle", "200ms"] });
  const safe = async (count: number): Promise<boolean> => {
    const runs = await stage.client.runs.list.query();
    if (runs.length === 0) return false;
    const { checkpoints } = await stage.client.runs.get.query({ run: runName.parse("llama") });
    return checkpoints.filter(({ state }) => state === "complete").length === count;
  };
  write(10, {});
  await waitUntil("the whole one is safe", () => safe(1));
  write(20, { "shards.safetensors.index.json": INDEX });
  await waitUntil("the doubtful one is safe", () => safe(2));
  const program = [process.execPath, "-e", halfFinal(stage.folderOf("gpu-2"))];
  const tuning = await stage.startNode({ name: "gpu-2", run: "tuned", program, flags: ["--settle", "200ms"] });
  await tuning.exited;

  await openSignedIn(page, stage);
  await page.goto(`${stage.hub.url}/runs/llama`);
  const row = page.getByRole("table", { name: "Checkpoints" }).getByRole("row").filter({ hasText: WHY });
  await expect(row).toHaveCount(1);
  await expect(row).toContainText("20");
  await expect(page.getByRole("link", { name: "step 20, doubtful" })).toBeVisible();
  await expect(page.getByText(/saved llama step 20 as doubtful/)).toBeVisible();
  await expectSound(page, "a run with a doubtful checkpoint");
  await page.screenshot({ path: "test-results/doubtful-run.png", fullPage: true });
  await showAs(page, "narrow");
  await expectSound(page, "a run with a doubtful checkpoint, narrow");
  await page.screenshot({ path: "test-results/doubtful-run-narrow.png", fullPage: true });
  await showAs(page, "wide");
  await row.getByRole("link").first().click();
  await expect(page).toHaveURL(/\/checkpoints\//);
  await expect(page).toHaveTitle(/llama .*20/);
  await expect(page.getByText(WHY).first()).toBeVisible();
  await expectSound(page, "a doubtful checkpoint");
  await page.screenshot({ path: "test-results/doubtful-checkpoint.png", fullPage: true });
  await page.goto(`${stage.hub.url}/alerts`);
  await expect(page.getByText(`kept step 20 of llama, which may not be whole: ${WHY}`)).toBeVisible();
  await page.goto(`${stage.hub.url}/nodes/gpu-1`);
  const runs = page.getByRole("table", { name: "Runs of this node" });
  await expect(runs.getByRole("row", { name: /step 20 is doubtful .* step 10/ })).toBeVisible();
  await expect(runs.getByText("the final model is doubtful")).toHaveCount(0);
  await expectSound(page, "a node with a doubtful checkpoint");
  await page.goto(`${stage.hub.url}/nodes/gpu-2`);
  await expect(runs.getByRole("cell", { name: /the final model is doubtful/ })).toBeVisible();
  await expectSound(page, "a node with a doubtful final model");
});

test("a piece says on the pages of its run and its own which node's piece is missing, and becomes the whole when that is there", async ({
  page,
  stage,
}) => {
  const write = (node: string): void => {
    const path = join(stage.folderOf(node), "step_10");
    mkdirSync(path, { recursive: true });
    writeSafetensors(join(path, `model_${node}.safetensors`), layersOf(64 * 1024));
  };
  const start = (name: string, rank: number) =>
    stage.startNode({
      name,
      run: "fsdp",
      flags: ["--nodes", "2", "--node-rank", String(rank), "--settle", "200ms"],
    });
  await start("zero", 0);
  await start("one", 1);
  write("zero");
  const rows = async () =>
    (await stage.client.runs.get.query({ run: runName.parse("fsdp") })).checkpoints.filter(
      ({ state }) => state === "complete",
    );
  const piece = await waitUntil("the piece of node 0 is safe", async () => (await rows())[0]);
  const why = "the piece of node 1 is missing";
  await openSignedIn(page, stage);
  await page.goto(`${stage.hub.url}/runs/fsdp`);
  const table = page.getByRole("table", { name: "Checkpoints" });
  await expect(table.getByRole("row").filter({ hasText: why })).toContainText("piece of node 0 of 2");
  await page.goto(`${stage.hub.url}/checkpoints/${piece.id}`);
  await expect(page.getByRole("region", { name: "Facts" })).toContainText(`piece of node 0 of 2: ${why}.`);
  await expectSound(page, "the piece of a checkpoint");
  write("one");
  const whole = await waitUntil("they are joined", async () => (await rows()).find(({ doubt }) => doubt === null));
  await page.goto(`${stage.hub.url}/checkpoints/${whole.id}`);
  await expect(page.getByRole("region", { name: "Facts" })).toContainText("2 of 2 nodes");
  await expect(page.getByRole("region", { name: "Facts" })).toContainText("zero, one");
  await page.goto(`${stage.hub.url}/runs/fsdp`);
  await expect(table.getByRole("row").filter({ hasText: "missing" })).toHaveCount(0);
});
