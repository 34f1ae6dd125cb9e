import type { Page } from "@playwright/test";
import { runName } from "#protocol/base/names.ts";
import { armFault, clearFaults } from "../stage/store-control.ts";
import { waitComplete } from "../stage/wait-complete.ts";
import { writeCheckpoint } from "../stage/write-checkpoint.ts";
import { expect, overflow, seriousFaults, openSignedIn, test } from "./story.ts";

/** Every page and the dialogs that matter on a telephone, 360 px wide: reached by touch, nothing cut off, all of it usable. */

test.use({
  viewport: { width: 360, height: 740 },
  hasTouch: true,
  colorScheme: "dark",
  // One of the pages is the one that is not there.
  expectedErrors: [/404 .*no-such-page/],
});

/** Buttons and links too small to hit, by name; words inside of a sentence may be small (WCAG 2.5.8). */
const tooSmall = (page: Page) =>
  page.evaluate(() =>
    [...document.querySelectorAll<HTMLElement>("main button, nav a")]
      .filter((element) => {
        const { width, height } = element.getBoundingClientRect();
        return width > 0 && height > 0 && (width < 24 || height < 24);
      })
      .map((element) => element.getAttribute("aria-label") ?? element.textContent),
  );

/** Words of the navigation that do not fit. */
const cutOff = (page: Page) =>
  page.evaluate(() =>
    [...document.querySelectorAll<HTMLElement>("nav a span")]
      .filter(({ scrollWidth, clientWidth }) => clientWidth > 0 && scrollWidth > clientWidth)
      .map(({ textContent }) => textContent),
  );

test("every page at 360 px: reached by touch, nothing sticks out, nothing is too small to hit", async ({
  page,
  stage,
}) => {
  const run = runName.parse("llama-3-70b-instruct-sft-with-a-long-name");
  await stage.startNode({ name: "gpu-with-a-rather-long-name-07", run });
  writeCheckpoint({
    folder: stage.folderOf("gpu-with-a-rather-long-name-07"),
    step: 123_456,
    modelBytes: 1024 ** 2,
    optimizerBytes: 0,
    loss: 1.5,
  });
  const checkpoint = await waitComplete(stage, run);
  const look = async (what: string): Promise<void> => {
    await expect(page.getByRole("heading", { level: 1 }).first(), what).toBeVisible();
    // All pages are told of, not the first that is wrong.
    expect.soft(await overflow(page), `${what} sticks out`).toBe(0);
    expect.soft(await tooSmall(page), `too small on ${what}`).toEqual([]);
    expect.soft(await seriousFaults(page), what).toEqual([]);
  };
  await page.goto(`${stage.hub.url}/sign-in`);
  await look("the door");
  await openSignedIn(page, stage);

  // By the places at the bottom.
  for (const [place, path] of [
    ["Overview", "/"],
    ["Nodes", "/nodes"],
    ["Runs", "/runs"],
    ["Jobs", "/jobs"],
    ["Groups", "/groups"],
    ["Buckets", "/buckets"],
    ["Transfers", "/transfers"],
    ["Alerts", "/alerts"],
    ["Advice", "/advice"],
    ["Benchmarks", "/benchmarks"],
    ["Events", "/events"],
    ["Settings", "/settings"],
  ] as const) {
    const bar = page.getByRole("navigation");
    const isMore = ["Jobs", "Groups", "Advice", "Benchmarks", "Events", "Settings"].includes(place);
    if (isMore) await bar.getByRole("button", { name: "More" }).tap();
    await (isMore ? page.getByRole("dialog", { name: "More" }) : bar).getByRole("link", { name: place }).tap();
    await expect(page.getByRole("dialog")).toBeHidden();
    await expect(page).toHaveURL(stage.hub.url + path);
    await look(place);
    await page.screenshot({ path: `test-results/narrow-${place.toLowerCase()}.png`, fullPage: true });
  }
  expect(await cutOff(page)).toEqual([]);

  // The others by their addresses.
  for (const path of [
    `/nodes/${checkpoint.nodeId}`,
    `/runs/${run}`,
    `/checkpoints/${checkpoint.id}`,
    `/buckets/${stage.profileId}`,
    "/events",
    "/losses",
    "/advice",
    "/benchmarks",
    "/adopt",
    `/compare?to=${checkpoint.id}`,
    "/alerts?show=rules",
    "/settings?show=tokens",
    "/settings?show=people",
    "/settings?show=audit",
    "/settings?show=hub",
    "/no-such-page",
  ]) {
    await page.goto(stage.hub.url + path);
    await look(path);
  }

  // A run with one that is on its way: its state is the longest there is.
  await armFault(stage.store, { op: "PutObject", keyPattern: "*.safetensors", action: { kind: "delay", ms: 60_000 } });
  writeCheckpoint({
    folder: stage.folderOf("gpu-with-a-rather-long-name-07"),
    step: 123_457,
    modelBytes: 1024 ** 2,
    optimizerBytes: 0,
    loss: 1.5,
  });
  await page.goto(`${stage.hub.url}/runs/${run}`);
  await expect(page.getByRole("table", { name: "Checkpoints" })).toContainText(/uploading \d+ %/);
  await look("a run that is being saved");
  await page.screenshot({ path: "test-results/narrow-run-uploading.png" });
  await clearFaults(stage.store);

  // What lies over a page fits as well.
  await page.goto(`${stage.hub.url}/runs/${run}`);
  for (const open of [
    () => page.getByRole("button", { name: "Restore" }).first().tap(),
    () => page.getByRole("button", { name: "Find a node, run, key or action" }).tap(),
    () => page.keyboard.press("?"),
  ]) {
    await open();
    const dialog = page.getByRole("dialog");
    await expect(dialog).toBeVisible();
    const box = await dialog.boundingBox();
    expect(Math.round(box?.x ?? -1)).toBeGreaterThanOrEqual(0);
    expect(Math.round((box?.x ?? 0) + (box?.width ?? 999))).toBeLessThanOrEqual(360);
    expect(await seriousFaults(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await expect(dialog).toBeHidden();
  }
});
