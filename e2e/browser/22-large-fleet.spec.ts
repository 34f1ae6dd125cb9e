import { formatCount } from "#protocol/base/units.ts";
import { fillHub, nameOf } from "../stage/fill-hub.ts";
import { type RunningProcess, startProcess } from "../stage/start-process.ts";
import { waitUntil } from "../stage/wait-until.ts";
import { writeCheckpoint } from "../stage/write-checkpoint.ts";
import { expect, expectSound, openSignedIn, seriousFaults, test } from "./story.ts";

/** Four hundred nodes (in `npm run prove -- large-fleet` three) report in the real protocol, and a run has five thousand steps, while somebody looks, scrolls and filters. */

const NODES = Number(process.env["STORY_NODES"] ?? 400);
const STEPS = 5_000;
const SEED = "story";
let simulator: RunningProcess | null = null;
test.afterEach(async () => {
  await simulator?.stop("SIGKILL");
  simulator = null;
});

test("a large fleet streams: the page shows all of them, stays calm under the pointer, and finds one", async ({
  page,
  stage,
}) => {
  await stage.startNode({ name: "gpu-1", run: "llama" });
  writeCheckpoint({ folder: stage.folderOf("gpu-1"), step: 7, modelBytes: 4096, optimizerBytes: 0, loss: 1 });
  await waitUntil("a checkpoint is safe", async () =>
    (await stage.client.runs.list.query()).some(({ complete }) => complete === 1),
  );
  await fillHub(stage, {
    seed: SEED,
    nodes: NODES,
    // Two parts with a hole between them, and one after the first step.
    steps: Array.from({ length: STEPS }, (_, index) => 100 + 10 * index + (index < STEPS / 2 ? 0 : 20_000)),
  });
  const orders = {
    url: stage.hub.url,
    token: "",
    first: 0,
    count: NODES,
    everyMs: 15_000,
    intervalMs: 60_000,
    seed: SEED,
  };
  let isReady = false;
  simulator = await startProcess({
    title: "simulator",
    entry: "bench/fleet/simulate.ts",
    args: [JSON.stringify(orders)],
    onLine: (line) => (isReady ||= line.includes('"said":"ready"')),
  });
  await waitUntil("every node has reported", async () => isReady);
  await openSignedIn(page, stage);

  // The overview counts all of them and draws the first ones.
  await expect(page.getByText(`of ${formatCount(NODES + 1)} nodes`)).toBeVisible();
  const onOverview = page.getByRole("table", { name: "Nodes, worst first" }).locator("tbody tr");
  await expect(onOverview).toHaveCount(12);
  await page.screenshot({ path: "test-results/many-nodes-overview.png", fullPage: true });

  // The list is as long as the fleet and draws what is seen.
  await page.goto(`${stage.hub.url}/nodes?sort=-node`);
  await expect(page.getByText(`of ${formatCount(NODES + 1)} online`)).toBeVisible();
  const rows = page.getByRole("table", { name: "Nodes" }).locator("tbody tr");
  await expect(rows.filter({ hasText: nameOf(NODES - 1) })).toBeVisible();
  expect(await rows.count()).toBeLessThan(120);
  await page.keyboard.press("End");
  await expect(rows.filter({ hasText: nameOf(0) })).toBeVisible();
  await page.keyboard.press("Home");
  await expect(rows.filter({ hasText: nameOf(NODES - 1) })).toBeVisible();

  // In the live order: the row under the pointer stays there while hundreds report.
  await page.goto(`${stage.hub.url}/nodes?sort=up`);
  await expect(rows.nth(5)).toBeVisible();
  const name = await rows.nth(5).getByRole("link").textContent();
  await rows.nth(5).hover();
  const held = await rows.nth(5).getByRole("link").textContent();
  const updates = await page.evaluate(
    () =>
      new Promise<number>((resolve) => {
        let seen = 0;
        const watch = new MutationObserver(() => {
          if (++seen < 20) return;
          watch.disconnect();
          resolve(seen);
        });
        watch.observe(document.querySelector("main tbody") ?? document.body, {
          subtree: true,
          characterData: true,
          childList: true,
        });
      }),
  );
  expect(updates).toBe(20);
  expect(name).not.toBeNull();
  await expect(rows.nth(5).getByRole("link")).toHaveText(held ?? "");
  await page.mouse.move(0, 0);

  // Found among all of them, by the filter and by the palette.
  await page.getByRole("searchbox", { name: "Filter nodes" }).fill(nameOf(NODES - 150));
  await expect(rows.filter({ hasText: nameOf(NODES - 150) })).toBeVisible();
  await page.keyboard.press("Escape");
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Find a node, run, key or action" }).fill(`pause ${nameOf(NODES - 1)}`);
  await expect(page.getByRole("option", { name: new RegExp(`^action Pause ${nameOf(NODES - 1)}`) })).toBeVisible();
  await page.keyboard.press("Escape");

  // A long run: whole in one look, and any of its steps below.
  await page.goto(`${stage.hub.url}/runs/llama`);
  await expect(page.getByText("5,001 steps")).toBeVisible();
  await expect(page.getByRole("list", { name: "Steps by epoch, in words" })).toContainText("5,001 complete, 2 gaps");
  await page.screenshot({ path: "test-results/long-run.png" });
  const steps = page.getByRole("form", { name: "Steps shown" });
  await steps.getByLabel("From step").fill("the first");
  await page.keyboard.press("Enter");
  await expect(steps.getByLabel("From step")).toHaveAccessibleDescription("A step is a whole number.");
  await steps.getByLabel("From step").fill("1000");
  await expect(steps.getByLabel("From step")).toHaveAccessibleDescription("");
  await steps.getByLabel("To step").fill("1200");
  await page.keyboard.press("Enter");
  const checkpoints = page.getByRole("table", { name: "Checkpoints" });
  await expect(checkpoints.getByRole("link", { name: "1,100" })).toBeVisible();
  await expect(checkpoints.locator("tbody tr")).toHaveCount(21);
  await expect(page).toHaveURL(/steps=1000-1200/);
  await expect(page.getByRole("link", { name: "step 1,200, complete" })).toBeVisible();
  await page.goto(`${stage.hub.url}/runs/llama?steps=30000-40000`);
  await expect(page.getByText("Nothing among steps 30,000 to 40,000")).toBeVisible();
  await page.getByRole("button", { name: "Newest steps" }).last().click();
  await expect(checkpoints.getByRole("link", { name: "70,090" })).toBeVisible();
  expect(await seriousFaults(page)).toEqual([]);

  for (const [path, width] of [
    ["/", 1440],
    ["/nodes", 360],
    ["/runs/llama", 360],
  ] as const) {
    await page.setViewportSize({ width, height: 900 });
    await page.goto(stage.hub.url + path);
    await expect(page.locator("main tbody tr").first()).toBeVisible();
    await expectSound(page);
  }
});
