import type { Page } from "@playwright/test";
import { writeCheckpoint } from "../stage/write-checkpoint.ts";
import { expect, expectSound, overflow, seriousFaults, showAs, signInByPage, test } from "./story.ts";

/** The list of nodes as each person wants it, and a node's page with what its program says and what its link does. */

/** Counts aloud, in colour, and says what a page must not take for markup. */
const PROGRAM = [
  process.execPath,
  "-e",
  `let step = 0; setInterval(() => console.log("\\u001b[32mstep " + (step += 1) + "\\u001b[0m <b>loss</b> 1.5"), 300)`,
];

const keepPicture = (page: Page, name: string) =>
  page.screenshot({ path: test.info().outputPath(`${name}.png`), fullPage: true });

const order = (page: Page) => page.getByRole("table", { name: "Nodes" }).getByRole("link").allInnerTexts();

test("columns are chosen, filters get names, nodes stand as tiles, and no row moves under the pointer", async ({
  page,
  stage,
}) => {
  await stage.startNode({ name: "gpu-2", run: "llama" });
  await stage.startNode({ name: "gpu-3", run: "mistral" });
  await signInByPage(page, stage);
  await page.goto(`${stage.hub.url}/nodes?sort=node`);
  const table = page.getByRole("table", { name: "Nodes" });
  await expect(table.getByRole("link")).toHaveCount(2);

  await page.getByRole("button", { name: "Columns" }).click();
  const columns = page.getByRole("region", { name: "Columns" });
  await columns.getByLabel("Disk free").check();
  await columns.getByLabel("Run", { exact: true }).uncheck();
  await expect(table.getByRole("columnheader", { name: "Disk free" })).toBeVisible();
  await expect(table.getByRole("columnheader", { name: "Run", exact: true })).toHaveCount(0);
  expect(await seriousFaults(page)).toEqual([]);
  // All of them at once scroll within the list, not with the page.
  await page.setViewportSize({ width: 1040, height: 900 });
  for (const box of await columns.getByRole("checkbox").all()) await box.check();
  expect(await overflow(page)).toBe(0);
  await keepPicture(page, "all-columns");
  await columns.getByRole("button", { name: "The usual ones" }).click();
  await columns.getByLabel("Disk free").check();
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.keyboard.press("Escape");
  await expect(columns).toBeHidden();
  await page.reload();
  await expect(table.getByRole("columnheader", { name: "Disk free" })).toBeVisible();
  await expect(table.getByRole("cell", { name: /GiB of/ }).first()).toBeVisible();

  // A node whose name comes first arrives while the pointer is on the list: it waits at the end until the pointer leaves.
  await table.getByRole("row").last().hover();
  await stage.startNode({ name: "gpu-1", run: "qwen" });
  await expect(table.getByRole("link")).toHaveCount(3);
  expect(await order(page)).toEqual(["gpu-2", "gpu-3", "gpu-1"]);
  await page.getByRole("heading", { level: 1 }).hover();
  await expect.poll(() => order(page)).toEqual(["gpu-1", "gpu-2", "gpu-3"]);

  await page.getByLabel("Filter nodes").fill("mistral");
  await expect(table.getByRole("link")).toHaveCount(1);
  await page.getByRole("button", { name: "Saved filters" }).click();
  const saved = page.getByRole("region", { name: "Saved filters" });
  await saved.getByRole("button", { name: "Save", exact: true }).click();
  await expect(saved.getByLabel("Name of this filter")).toHaveAccessibleDescription(/\S/);
  await saved.getByLabel("Name of this filter").fill("the mistral nodes");
  await expect(saved.getByLabel("Name of this filter")).toHaveAccessibleDescription("");
  await saved.getByRole("button", { name: "Save", exact: true }).click();
  await expect(saved.getByRole("button", { name: "the mistral nodes", exact: true })).toBeVisible();
  expect(await seriousFaults(page)).toEqual([]);

  await page.goto(`${stage.hub.url}/nodes`);
  await expect(table.getByRole("link")).toHaveCount(3);
  await page.getByRole("button", { name: "Saved filters" }).click();
  await saved.getByRole("button", { name: "the mistral nodes", exact: true }).click();
  await expect(page).toHaveURL(/q=mistral/);
  await expect(table.getByRole("link")).toHaveCount(1);
  await saved.getByRole("button", { name: "Forget the mistral nodes" }).click();
  await expect(saved.getByRole("button", { name: "the mistral nodes", exact: true })).toHaveCount(0);
  await page.getByRole("button", { name: "Undo" }).click();
  // A press beside it has closed the list.
  await page.getByRole("button", { name: "Saved filters" }).click();
  await expect(saved.getByRole("button", { name: "the mistral nodes", exact: true })).toBeVisible();

  await page.goto(`${stage.hub.url}/nodes`);
  await page.getByRole("button", { name: "Tiles" }).click();
  const tiles = page.getByRole("list", { name: "Nodes" });
  await expect(tiles.getByRole("listitem")).toHaveCount(3);
  await tiles.getByLabel("Choose gpu-2").check();
  await expect(page.getByText("1 chosen")).toBeVisible();
  await page.getByLabel("Order", { exact: true }).selectOption("by name");
  await expect.poll(() => tiles.getByRole("link").allInnerTexts()).toEqual(["gpu-1", "gpu-2", "gpu-3"]);
  expect(await seriousFaults(page)).toEqual([]);
  await keepPicture(page, "tiles-wide");

  await showAs(page, "narrow");
  for (const look of ["tiles", "table"]) {
    await page.goto(`${stage.hub.url}/nodes?view=${look}`);
    await expect(page.getByRole("link", { name: "gpu-3" })).toBeVisible();
    await page.getByRole("button", { name: "Saved filters" }).click();
    await expectSound(page, look);
    await keepPicture(page, `${look}-narrow-dark`);
  }
});

test("a node's page follows what its program says, and shows round trips and the processor", async ({
  page,
  stage,
}) => {
  await stage.startNode({ name: "gpu-1", run: "llama", program: PROGRAM });
  writeCheckpoint({
    folder: stage.folderOf("gpu-1"),
    step: 500,
    modelBytes: 4 * 1024 ** 2,
    optimizerBytes: 0,
    loss: 1.5,
  });
  await signInByPage(page, stage);
  await page.goto(`${stage.hub.url}/nodes`);
  await page.getByRole("link", { name: "gpu-1" }).click();
  const program = page.getByRole("region", { name: "Program", exact: true });
  const words = program.getByRole("region", { name: "Program output" });
  await expect(words).toContainText(/step \d+ <b>loss<\/b> 1\.5/);
  const before = Number(/step (\d+)[^]*$/.exec(await words.innerText())?.[1]);
  await expect(words).toContainText(`step ${before + 20} `);
  await expect(program.getByText("live", { exact: true })).toBeVisible();

  const cpu = page.getByRole("figure", { name: "Worker CPU, of one core" });
  await expect(cpu.getByRole("slider")).toHaveAttribute("aria-valuetext", / %$/);
  await cpu.getByRole("button", { name: "Show as a table" }).click();
  const samples = cpu.getByRole("table", { name: /CPU/ });
  await expect(samples.getByRole("row").nth(1)).toContainText(/\d+:\d+:\d+.* %$/);
  await expect(cpu.getByRole("slider")).toHaveCount(0);
  await cpu.getByRole("button", { name: "Show as lines" }).click();
  await expect(cpu.getByRole("slider")).toBeVisible();
  await expect(page.getByRole("figure", { name: "Round trip to the bucket" })).toBeVisible();
  expect(await seriousFaults(page)).toEqual([]);
  await keepPicture(page, "node-wide");

  await showAs(page, "narrow");
  await expect(words).toBeVisible();
  await expectSound(page);
  await keepPicture(page, "node-narrow-dark");
});
