import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { PutObjectCommand, S3Client } from "@aws-sdk/client-s3";
import type { Page } from "@playwright/test";
import { runName } from "#protocol/base/names.ts";
import { readArchive } from "#storage/testing/real-files.ts";
import type { Stage } from "../stage/open-stage.ts";
import { waitComplete } from "../stage/wait-complete.ts";
import { waitUntil } from "../stage/wait-until.ts";
import { hashFolder, writeCheckpoint } from "../stage/write-checkpoint.ts";
import { expect, expectSound, openSignedIn, seriousFaults, showAs, test } from "./story.ts";

/** Looking inside checkpoints that real libraries wrote, comparing them, adopting what another tool left, and where a run has been. */

const formats = readArchive("inspect-formats");
const real = readArchive("real-checkpoints");
const TRAINER = "transformers-trainer/checkpoint-4/";

function writeFolder(files: ReadonlyMap<string, Buffer>, from: string, to: string): void {
  for (const [path, bytes] of files) {
    if (!path.startsWith(from)) continue;
    const place = join(to, path.slice(from.length));
    mkdirSync(dirname(place), { recursive: true });
    writeFileSync(place, bytes);
  }
}

/** Copies as another tool does that knows nothing of Tidemark. */
async function copyToBucket(stage: Stage, files: ReadonlyMap<string, Buffer>, at: { from: string; to: string }) {
  const { endpoint, accessKey, secretKey, bucket } = stage.store;
  const credentials = { accessKeyId: accessKey, secretAccessKey: secretKey };
  const client = new S3Client({ endpoint, region: "us-east-1", forcePathStyle: true, credentials });
  for (const [path, Body] of files) {
    if (path.startsWith(at.from))
      await client.send(new PutObjectCommand({ Bucket: bucket, Key: at.to + path.slice(at.from.length), Body }));
  }
  client.destroy();
}

/** A step of a run once it is complete. */
async function looksRight(page: Page, name: string): Promise<void> {
  expect(await seriousFaults(page), name).toEqual([]);
  await showAs(page, "narrow");
  await expectSound(page, `${name}, dark and narrow`);
  await showAs(page, "wide");
}

test("a checkpoint is looked into and compared with the one before", async ({ page, stage }) => {
  await stage.startNode({ name: "gpu-1", run: "tiny" });
  writeFolder(real, TRAINER, join(stage.folderOf("gpu-1"), "checkpoint-4"));
  const four = await waitComplete(stage, "tiny", { step: 4 });
  writeFolder(formats, "trainer/checkpoint-6/", join(stage.folderOf("gpu-1"), "checkpoint-6"));
  const six = await waitComplete(stage, "tiny", { step: 6 });
  await openSignedIn(page, stage);
  await page.goto(`${stage.hub.url}/checkpoints/${six.id}`);
  const files = page.getByRole("table", { name: "Files" });
  await expect(files.getByRole("row").filter({ hasText: "model.safetensors" })).toBeVisible();
  await looksRight(page, "checkpoint");

  await page.getByRole("searchbox", { name: "Filter files" }).fill("optimizer");
  await expect(files.getByRole("row")).toHaveCount(2);
  await files.getByRole("link", { name: "optimizer.pt" }).click();
  await expect(page).toHaveURL(/file=optimizer\.pt/);
  await expect(page.getByText("Its pickle is never loaded")).toBeVisible();
  await looksRight(page, "pickle");
  await page.getByRole("link", { name: "All files" }).click();
  await page.getByRole("searchbox", { name: "Filter files" }).fill("");

  await files.getByRole("link", { name: "model.safetensors", exact: true }).click();
  const tensors = page.getByRole("table", { name: "Tensors" });
  await expect(tensors.getByRole("row").nth(1)).toBeVisible();
  await expect(page.getByText(/at most 16\.0 MiB of an object/)).toBeVisible();
  const count = await tensors.getByRole("row").count();
  await page.getByRole("button", { name: "Largest first" }).click();
  await expect(page).toHaveURL(/order=size/);
  await page.getByRole("searchbox", { name: "Filter tensors" }).fill("weight");
  await expect(page).toHaveURL(/tensor=weight/);
  expect(await tensors.getByRole("row").count()).toBeLessThanOrEqual(count);
  await expect(page.getByRole("list", { name: "Layers" })).toBeVisible();
  await looksRight(page, "tensors");
  // What the address says survives a reload.
  await page.reload();
  await expect(page.getByRole("searchbox", { name: "Filter tensors" })).toHaveValue("weight");

  await page.goto(`${stage.hub.url}/checkpoints/${six.id}?show=contents`);
  await expect(page.getByText(/parameters/).first()).toBeVisible();
  await expect(page.getByRole("slider", { name: /loss over steps/ })).toBeVisible();
  await looksRight(page, "contents");
  await page.getByRole("button", { name: "Table", exact: true }).click();
  await expect(page.getByRole("table", { name: "Training log" }).getByRole("row").nth(1)).toBeVisible();

  await page.getByRole("link", { name: "Compare" }).click();
  await expect(page).toHaveURL(new RegExp(`to=${six.id}`));
  await expect(page.getByRole("region", { name: "From" })).toContainText("tiny step 4");
  await expect(page.getByRole("region", { name: "Result" })).toContainText("the same");
  await page.getByRole("button", { name: "Files" }).click();
  await expect(page.getByRole("table", { name: "Changes" })).toContainText("trainer_state.json");
  await looksRight(page, "compare");
  await page.getByRole("button", { name: "Swap" }).click();
  await expect(page).toHaveURL(new RegExp(`from=${six.id}.*to=${four.id}`));
});

test.describe("what another tool left", () => {
  // The page of what was released may ask for it once more.
  test.use({ expectedErrors: [/404 .*checkpoints\.get/] });

  test("is found, adopted, restored, and held to its checksums", async ({ page, stage }) => {
    await stage.startNode({ name: "gpu-2", run: "idle" });
    await copyToBucket(stage, real, { from: TRAINER, to: "old/llama tiny/checkpoint-4/" });
    await copyToBucket(stage, real, { from: "transformers-shards/step_2/", to: "old/shards/step_2/" });
    await copyToBucket(stage, real, { from: "lightning/", to: "old/lightning/" });
    const lacking = new Map([...real].filter(([path]) => !path.endsWith("00003-of-00004.safetensors")));
    await copyToBucket(stage, lacking, { from: "transformers-shards/step_2/", to: "old/shards/step_3/" });
    await openSignedIn(page, stage);
    await page.goto(`${stage.hub.url}/runs`);
    await page.getByRole("link", { name: "Found in the bucket" }).click();
    const shards = page.getByRole("region", { name: "Found in old/shards/" });
    await expect(shards).toContainText("missing shard 3 of 4");
    await expect(shards.getByRole("button", { name: "Adopt step_3/" })).toBeDisabled();
    await looksRight(page, "found");

    const trainer = page.getByRole("region", { name: "Found in old/llama tiny/" });
    await expect(trainer.getByLabel("as run")).toHaveValue("llama-tiny");
    await trainer.getByRole("button", { name: "Adopt checkpoint-4/" }).click();
    await trainer.getByRole("link", { name: "adopted" }).click();
    await expect(page.getByRole("heading", { level: 1 })).toContainText("llama-tiny step 4");
    await expect(page.getByText(/not verified yet/)).toBeVisible();
    await looksRight(page, "adopted");

    await page.getByRole("button", { name: "Restore", exact: true }).click();
    const dialog = page.getByRole("dialog");
    const target = join(stage.dir, "restored", "checkpoint-4");
    await dialog.getByLabel("Path").fill(target);
    await dialog.getByLabel("Path").press("Enter");
    await expect(dialog).toContainText("Restored and verified");
    const original = join(stage.dir, "original");
    writeFolder(real, TRAINER, original);
    expect(hashFolder(target)).toEqual(hashFolder(original));
    await page.keyboard.press("Escape");
    await expect(page.getByText(/were taken by gpu-2/)).toBeVisible();

    await page.getByRole("button", { name: "Release…" }).click();
    await page.getByRole("button", { name: "Release", exact: true }).click();
    await expect(page.getByText("Its objects are where they were.")).toBeVisible();
    await page.goto(`${stage.hub.url}/adopt`);
    await expect(page.getByRole("region", { name: "Found in old/llama tiny/" })).toBeVisible();
  });
});

test("a run that moved shows who wrote it, what the move cost, and who was refused", async ({ page, stage }) => {
  const first = await stage.startNode({ name: "gpu-1", run: "moved", flags: ["--limit-up", "300KB"] });
  const small = { modelBytes: 64 * 1024, optimizerBytes: 0, loss: 1 };
  writeCheckpoint({ folder: stage.folderOf("gpu-1"), step: 100, ...small });
  await waitComplete(stage, "moved", { step: 100 });
  // Too large to be safe before its node is gone.
  writeCheckpoint({ folder: stage.folderOf("gpu-1"), step: 200, ...small, modelBytes: 64 * 1024 ** 2 });
  await waitUntil("the hub knows of step 200", async () =>
    (await stage.client.runs.get.query({ run: runName.parse("moved") })).checkpoints.some(({ step }) => step === 200),
  );
  await waitUntil("the node has said what it has", async () =>
    (await stage.client.nodes.list.query()).some(({ runs }) => runs.some(({ localStep }) => localStep === 200)),
  );
  await first.stop("SIGKILL");
  // Nobody waits here until the first one counts as silent.
  const handTo = async (name: string) => {
    const node = await waitUntil(`${name} is online`, async () =>
      (await stage.client.nodes.list.query()).find((one) => one.name === name && one.state === "online"),
    );
    await stage.client.runs.handOver.mutate({ run: runName.parse("moved"), nodeId: node.id });
  };
  await stage.startNode({ name: "gpu-2", run: "moved" });
  await handTo("gpu-2");
  writeCheckpoint({ folder: stage.folderOf("gpu-2"), step: 150, ...small });
  await waitComplete(stage, "moved", { step: 150 });
  // It comes back: what it had captured is refused, and it goes on in an epoch of its own.
  await stage.startNode({ name: "gpu-1", run: "moved" });
  await handTo("gpu-1");
  await waitUntil(
    "it was refused",
    async () => (await stage.client.runs.lineage.query({ run: runName.parse("moved") })).refusals.total > 0,
  );

  await openSignedIn(page, stage);
  await page.goto(`${stage.hub.url}/runs/moved`);
  const epochs = page.getByRole("list", { name: "Epochs, newest first" });
  await expect(epochs.getByRole("listitem")).toHaveCount(3);
  await expect(epochs.getByRole("listitem").first()).toContainText("from step 150 of epoch 2");
  await expect(epochs.getByRole("listitem").nth(1)).toContainText("gpu-2");
  await expect(epochs.getByRole("listitem").nth(1)).toContainText("from step 100 of epoch 1");
  const lineage = page.getByRole("region", { name: "Lineage" });
  await expect(lineage).toContainText("refused: another node had taken over");
  const ledger = page.getByRole("region", { name: "Lost work" });
  await expect(ledger.getByRole("table").getByRole("row").filter({ hasText: "gpu-1" })).toContainText("100");
  await looksRight(page, "run");
  await lineage.getByRole("button", { name: "Table" }).click();
  await expect(page.getByRole("table", { name: "Epochs" }).getByRole("row")).toHaveCount(4);

  await page.goto(`${stage.hub.url}/losses`);
  await page.getByRole("button", { name: "Set a price…" }).click();
  await page.getByLabel("A node-hour of any run costs").fill("cheap");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByText("A price is a number such as 0.25.")).toHaveCount(1);
  await page.getByLabel("A node-hour of any run costs").fill("3600");
  await expect(page.getByText("A price is a number such as 0.25.")).toHaveCount(0);
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByRole("button", { name: "3600 USD per node-hour" })).toBeVisible();
  await expect(page.getByRole("table", { name: "Lost work" })).toContainText("USD");
  await looksRight(page, "losses");
});
