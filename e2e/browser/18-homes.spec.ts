import { join } from "node:path";
import { addProfile } from "../stage/provision.ts";
import { type RunningStore, startStore } from "../stage/start-store.ts";
import { waitComplete } from "../stage/wait-complete.ts";
import { writeCheckpoint } from "../stage/write-checkpoint.ts";
import { expect, expectSound, seriousFaults, showAs, signInByPage, test } from "./story.ts";

/** A run gets a second bucket; its checkpoints come there too; one bucket goes away and saving goes on. */

const MIB = 1024 ** 2;

let far: RunningStore | null = null;
test.afterEach(async () => {
  await far?.stop("SIGKILL");
});

test("a second home, copies with their states, and a bucket that goes down", async ({ page, stage }) => {
  const second = await startStore({ dataDir: join(stage.dir, "far") });
  far = second;
  await addProfile(stage.client, { name: "far bucket", store: second });
  await stage.startNode({ name: "gpu-1", run: "llama" });
  const folder = stage.folderOf("gpu-1");
  const save = (step: number) => writeCheckpoint({ folder, step, modelBytes: 4 * MIB, optimizerBytes: MIB, loss: 2 });
  const checkpointAt = (step: number) => waitComplete(stage, "llama", { step });
  save(100);
  await checkpointAt(100);
  await signInByPage(page, stage);

  // The run gets a second home.
  await page.goto(`${stage.hub.url}/runs/llama`);
  const homes = page.getByRole("list", { name: "Storage locations in their order" });
  await expect(homes.getByRole("listitem")).toHaveCount(1);
  await page.getByRole("combobox", { name: "Add a storage location" }).click();
  await page.getByRole("option", { name: /far bucket/ }).click();
  await expect(homes.getByRole("listitem")).toHaveCount(2);
  await expect(page.getByText("1 checkpoint lacks a copy, the newest among them")).toBeVisible();

  // What is saved from now on lies in both.
  save(200);
  const { id } = await checkpointAt(200);
  await page.goto(`${stage.hub.url}/checkpoints/${id}`);
  const copies = page.getByRole("list", { name: "Copies" });
  await expect(copies.getByText("complete")).toHaveCount(2);
  await expect(page.getByText("2 of 2 whole")).toBeVisible();
  expect(await seriousFaults(page)).toEqual([]);
  await page.screenshot({ path: "test-results/copies.png", fullPage: true });
  await copies.getByRole("button", { name: "Verify the copy in far bucket" }).click();
  await expect(copies.getByText(/verified (now|\d)/)).toHaveCount(1);

  // The order is a person's; the keyboard does as well.
  await page.goto(`${stage.hub.url}/runs/llama`);
  await expect(homes.getByRole("listitem").first()).toContainText("stage bucket");
  await page.getByRole("button", { name: "Move far bucket up" }).focus();
  await page.keyboard.press("Enter");
  await expect(homes.getByRole("listitem").first()).toContainText("far bucket");
  await page.getByRole("button", { name: "Move far bucket down" }).click();
  await expect(homes.getByRole("listitem").first()).toContainText("stage bucket");

  // The far bucket goes away. What it would have held is saved in the other one, and the page says what is out of reach.
  await second.stop("SIGKILL");
  save(300);
  await checkpointAt(300);
  await expect(homes.getByText(/out of reach of 1 node/)).toBeVisible();
  expect(await seriousFaults(page)).toEqual([]);
  await page.screenshot({ path: "test-results/homes.png", fullPage: true });
  await showAs(page, "narrow");
  await expectSound(page);
  await homes.scrollIntoViewIfNeeded();
  await page.screenshot({ path: "test-results/homes-narrow.png", fullPage: true });
  await page.goto(`${stage.hub.url}/checkpoints/${id}`);
  await expect(copies.getByText("out of reach")).toHaveCount(1);
  await expectSound(page);
  await page.screenshot({ path: "test-results/copies-narrow.png", fullPage: true });
});
