import type { Page } from "@playwright/test";
import { runName } from "#protocol/base/names.ts";
import type { Stage } from "../stage/open-stage.ts";
import { waitComplete } from "../stage/wait-complete.ts";
import { writeCheckpoint } from "../stage/write-checkpoint.ts";
import { screensOf } from "./screens.ts";
import { expect, expectSound, openSignedIn, test } from "./story.ts";

/** The ways through the pages: by name, by a press that is answered at once, back from a dialog, and over the steps of a run. */

const run = runName.parse("llama-8b");
const LOSSES = [2.5, 2, 1.75, 1.5];

/** A node whose run has a checkpoint each hundred steps, with falling losses. */
async function trained(stage: Stage) {
  await stage.startNode({ name: "gpu-1", run });
  for (const [index, loss] of LOSSES.entries()) {
    const step = 1_100 + index * 100;
    writeCheckpoint({ folder: stage.folderOf("gpu-1"), step, modelBytes: 65_536, optimizerBytes: 0, loss });
    await waitComplete(stage, run, { step });
  }
  return waitComplete(stage, run, { step: 1_200 });
}

const palette = (page: Page) => page.getByRole("combobox", { name: "Find a node, run, key or action" });
const focused = (page: Page) =>
  page.evaluate(() => {
    const { activeElement } = document;
    return `${activeElement?.tagName} ${activeElement?.id} ${activeElement?.textContent}`;
  });

test("steps, tags and settings are found by name, with a slip too, and a node's page by its name", async ({
  page,
  stage,
}) => {
  const checkpoint = await trained(stage);
  await stage.client.checkpoints.tag.mutate({ id: checkpoint.id, tag: "best-eval" });
  await openSignedIn(page, stage);
  const find = async (words: string, option: string | RegExp) => {
    await page.keyboard.press("Control+k");
    await palette(page).fill(words);
    await expect(page.getByRole("option", { name: option }).first()).toBeVisible();
    await expect(page.getByRole("option", { name: option }).first()).toHaveAttribute("data-highlighted", "");
    await page.keyboard.press("Enter");
  };
  for (const words of ["1200", "llama 1200", "lama 1,200"]) {
    await openSignedIn(page, stage);
    await find(words, /llama-8b, step 1,200/);
    await expect(page).toHaveURL(`${stage.hub.url}/checkpoints/${checkpoint.id}`);
  }
  await openSignedIn(page, stage);
  await find("best-evla", /^tag.*best-eval/);
  await expect(page).toHaveURL(`${stage.hub.url}/checkpoints/${checkpoint.id}`);
  await find("benchmrak", /Benchmarks/);
  await expect(page).toHaveURL(`${stage.hub.url}/benchmarks`);
  await find("theme rates", /This browser/);
  await expect(page).toHaveURL(`${stage.hub.url}/settings#browser`);
  await find("tidemark_public", /TIDEMARK_PUBLIC_URL/);
  await expect(page).toHaveURL(/settings\?show=hub&q=TIDEMARK_PUBLIC_URL/);

  await page.goto(`${stage.hub.url}/nodes/gpu-1`);
  await expect(page.getByRole("heading", { name: "gpu-1", level: 1 })).toBeVisible();
  await expect(page.getByLabel("You are here")).toContainText("gpu-1");
  await page.goto(`${stage.hub.url}/nodes/${checkpoint.nodeId}`);
  await expect(page.getByRole("heading", { name: "gpu-1", level: 1 })).toBeVisible();
});

test("loss stands over the steps: a part is dragged over, one crosshair goes through all charts, a point opens", async ({
  page,
  stage,
}) => {
  await trained(stage);
  const third = await waitComplete(stage, run, { step: 1_300 });
  await openSignedIn(page, stage);
  await page.goto(`${stage.hub.url}/runs/${run}`);
  const metrics = page.getByRole("region", { name: "Metrics" });
  const loss = metrics.getByRole("slider", { name: "loss over steps" });
  await expect(loss).toHaveAttribute("aria-valuetext", "step 1,400, epoch 1 1.500");
  await expectSound(page, "metrics");
  await page.screenshot({ path: "test-results/metrics.png", fullPage: true });

  // By the keyboard: the crosshair, the step that opens.
  await loss.focus();
  await page.keyboard.press("ArrowLeft");
  await expect(loss).toHaveAttribute("aria-valuetext", "step 1,300, epoch 1 1.750");
  await expect(metrics.getByText("step 1,300").first()).toBeVisible();
  await page.keyboard.press("+");
  await expect(page).toHaveURL(/steps=\d+-\d+/);
  await expect(metrics.getByRole("button", { name: "Show all" }).first()).toBeVisible();
  await loss.focus();
  await page.keyboard.press("0");
  await expect(page).not.toHaveURL(/steps=/);
  await expect(loss).toHaveAttribute("aria-valuetext", "step 1,300, epoch 1 1.750");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(`${stage.hub.url}/checkpoints/${third.id}`);

  // By the pointer: a drag chooses the steps of the whole page, a press on the last point opens it.
  await page.goBack();
  await expect(loss).toBeVisible();
  await loss.scrollIntoViewIfNeeded();
  const box = await loss.boundingBox();
  if (box === null) throw new Error("the chart has no place");
  const middle = box.y + box.height / 2;
  await page.mouse.move(box.x + box.width * 0.55, middle);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.7, middle, { steps: 4 });
  await page.mouse.move(box.x + box.width - 2, middle, { steps: 4 });
  await page.mouse.up();
  await expect(page).toHaveURL(/steps=1\d\d\d-1400$/);
  await expect(page.getByText(/^steps 1,\d+ to 1,400$/).first()).toBeVisible();
  await page.getByRole("button", { name: "Show all" }).first().click();
  await expect(page).not.toHaveURL(/steps=/);
});

test("the charts of a page show one time and one crosshair, and a drag stops the time", async ({ page, stage }) => {
  await stage.startNode({ name: "gpu-1", run });
  writeCheckpoint({ folder: stage.folderOf("gpu-1"), step: 100, modelBytes: 2 ** 22, optimizerBytes: 0, loss: 1 });
  const { nodeId } = await waitComplete(stage, run, { step: 100 });
  await openSignedIn(page, stage);
  await page.goto(`${stage.hub.url}/nodes/${nodeId}`);
  const charts = page.locator("main input[type=range]");
  await expect.poll(() => charts.count()).toBeGreaterThan(1);
  const first = charts.first();
  await first.focus();
  await page.keyboard.press("+");
  await expect(page).toHaveURL(/part=1h\.\d+-\d+/);
  // All of them show the part, and go back together.
  await expect(page.getByRole("button", { name: "Show all" })).toHaveCount(await charts.count());
  await expect(page.getByRole("heading", { name: /^Throughput, \d\d:\d\d to \d\d:\d\d$/ })).toBeVisible();
  await page.getByRole("button", { name: "Show all" }).first().click();
  await expect(page).not.toHaveURL(/part=/);
  await first.hover();
  // The time under the pointer stands in the read-out of each chart.
  await expect.poll(() => page.locator("main .pointer-events-none.shadow-lift").count()).toBeGreaterThan(1);
});

test("a press on a page that is slow to come is answered at once", async ({ page, stage }) => {
  await openSignedIn(page, stage);
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  await page.route(/\/transfers\?.*_rsc=/, async (route) => {
    await held;
    await route.continue();
  });
  const link = page.getByRole("navigation").getByRole("link", { name: "Transfers" });
  await link.click();
  await expect(link).toHaveAttribute("aria-current", "page");
  await expect(page.getByRole("progressbar", { name: "Opening the page" })).toBeAttached();
  await expect(page.getByRole("main")).toHaveAttribute("aria-busy", "true");
  await expect(page).toHaveURL(`${stage.hub.url}/`);
  release();
  await expect(page).toHaveURL(`${stage.hub.url}/transfers`);
  await expect(page.getByRole("progressbar", { name: "Opening the page" })).toHaveCount(0);
  await expect(page.getByRole("main")).toHaveAttribute("aria-busy", "false");
});

test("focus returns to what opened a dialog, or to what is left of it, never to the body", async ({ page, stage }) => {
  const checkpoint = await trained(stage);
  await openSignedIn(page, stage);
  const reopened = async (path: string, opener: ReturnType<Page["getByRole"]>) => {
    await page.goto(stage.hub.url + path);
    for (const close of ["Escape", "Close"] as const) {
      await opener.first().focus();
      await page.keyboard.press("Enter");
      await expect(page.getByRole("dialog")).toBeVisible();
      if (close === "Escape") await page.keyboard.press("Escape");
      else await page.getByRole("dialog").getByRole("button", { name: "Close" }).first().click();
      await expect(page.getByRole("dialog")).toBeHidden();
      await expect(opener.first(), `${path} after ${close}`).toBeFocused();
    }
  };
  const button = (name: string | RegExp) => page.getByRole("main").getByRole("button", { name });
  await reopened("/nodes", button("Add node"));
  await reopened(`/nodes/${checkpoint.nodeId}`, button("Send command…"));
  await reopened(`/nodes/${checkpoint.nodeId}`, button("Runs…"));
  await reopened(`/nodes/${checkpoint.nodeId}`, button("Revoke…"));
  await reopened(`/nodes/${checkpoint.nodeId}`, button("Restore here"));
  await reopened(`/runs/${run}`, button("Restore"));
  await reopened("/benchmarks", button("New benchmark…"));
  await reopened("/settings", button("Change password"));
  await reopened("/alerts?show=rules", button("Add rule"));
  await reopened("/settings?show=people", button(/^Invite/));

  // The palette, where nothing had the focus, and where it opens a dialog.
  await openSignedIn(page, stage);
  await page.keyboard.press("Control+k");
  await expect(palette(page)).toBeFocused();
  await page.keyboard.press("Escape");
  await expect.poll(() => focused(page)).toMatch(/^MAIN content/);
  await page.keyboard.press("Control+k");
  await palette(page).fill("add node");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("dialog", { name: "Add node" })).toBeVisible();
  await page.keyboard.press("Escape");
  await expect.poll(() => focused(page)).toMatch(/^MAIN content/);

  // What opened it goes with the row that it was about.
  await page.goto(`${stage.hub.url}/nodes/${checkpoint.nodeId}`);
  await button("Revoke…").click();
  await page
    .getByRole("dialog")
    .getByRole("button", { name: /^Revoke/ })
    .click();
  await expect(page.getByText("This node was revoked.")).toBeVisible();
  await expect(button("Revoke…")).toHaveCount(0);
  await expect.poll(() => focused(page)).not.toMatch(/^BODY/);
});

/** Words that stand on a control and are not in its name: who speaks to the page says what is to be read (WCAG 2.5.3). */
const unnamed = (page: Page) =>
  page.evaluate(() => {
    const plain = (text: string) =>
      text
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}]+/gu, " ")
        .trim();
    const shownIn = (element: Element): string =>
      [...element.childNodes]
        .map((node) => {
          if (node instanceof Text) return node.data;
          if (!(node instanceof HTMLElement) || node.ariaHidden === "true" || node.tagName === "KBD") return "";
          const { width, height } = node.getBoundingClientRect();
          return width <= 1 || height <= 1 ? "" : ` ${shownIn(node)} `;
        })
        .join("");
    return [...document.querySelectorAll<HTMLElement>("button[aria-label]:not([role=combobox]), a[aria-label]")]
      .filter((element) => element.getClientRects().length > 0)
      .map((element) => ({ name: plain(element.ariaLabel ?? ""), shown: plain(shownIn(element)) }))
      .filter(({ name, shown }) => shown !== "" && !name.includes(shown))
      .map(({ name, shown }) => `"${shown}" is called "${name}"`);
  });

/** Strips of tabs that scroll up and down, or show a bar. */
const barredTabs = (page: Page) =>
  page.evaluate(() =>
    [...document.querySelectorAll<HTMLElement>("[role=tablist]")]
      .filter((strip) => {
        const { overflowY, scrollbarWidth } = getComputedStyle(strip);
        const scrolls = strip.scrollHeight > strip.clientHeight && overflowY !== "hidden" && overflowY !== "visible";
        return scrolls || scrollbarWidth !== "none";
      })
      .map(({ ariaLabel }) => ariaLabel),
  );

test("what is to be read is what things are called, and no strip of tabs has a bar", async ({ page, stage }) => {
  const checkpoint = await trained(stage);
  await openSignedIn(page, stage);
  for (const width of [1440, 390]) {
    await page.setViewportSize({ width, height: 844 });
    for (const path of screensOf({ ...checkpoint, run })) {
      await page.goto(stage.hub.url + path);
      await expect(page.getByRole("heading", { level: 1 }).first()).toBeVisible();
      expect.soft(await unnamed(page), `${path} at ${width}`).toEqual([]);
      expect.soft(await barredTabs(page), `${path} at ${width}`).toEqual([]);
    }
  }
});
