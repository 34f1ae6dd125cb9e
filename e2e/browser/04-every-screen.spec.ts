import type { Page } from "@playwright/test";
import { runName } from "#protocol/names.ts";
import { waitUntil } from "../stage/wait-until.ts";
import { writeCheckpoint } from "../stage/write-checkpoint.ts";
import { expect, overflow, seriousFaults, signInByPage, test } from "./story.ts";

const FORMS = [
  { theme: "dark", width: 1440 },
  { theme: "light", width: 1440 },
  { theme: "dark", width: 390 },
  { theme: "light", width: 390 },
] as const;

/** How much of the page moved by itself since it was opened (the browser's own layout-shift score). */
const shifted = (page: Page) =>
  page.evaluate(
    () =>
      new Promise<number>((resolve) => {
        let sum = 0;
        const add = (entries: PerformanceEntryList) => {
          for (const entry of entries) {
            if ("value" in entry && typeof entry.value === "number") sum += entry.value;
          }
        };
        const observer = new PerformanceObserver((list) => add(list.getEntries()));
        observer.observe({ type: "layout-shift", buffered: true });
        requestAnimationFrame(() =>
          requestAnimationFrame(() => {
            add(observer.takeRecords());
            resolve(sum);
          }),
        );
      }),
  );

test("every screen, light and dark, wide and narrow: no overflow, no serious accessibility fault", async ({
  page,
  stage,
}) => {
  test.setTimeout(480_000);
  const run = runName.parse("llama-8b");
  await stage.startNode({ name: "gpu-1", run });
  writeCheckpoint({
    folder: stage.folderOf("gpu-1"),
    step: 500,
    modelBytes: 2 * 1024 ** 2,
    optimizerBytes: 0,
    loss: 1.5,
  });
  const checkpoint = await waitUntil("the checkpoint is complete", async () =>
    (await stage.client.runs.get.query({ run })).checkpoints.find((one) => one.state === "complete"),
  );
  await signInByPage(page, stage);
  const screens = [
    "/",
    "/nodes",
    `/nodes/${checkpoint.nodeId}`,
    "/runs",
    `/runs/${run}`,
    `/checkpoints/${checkpoint.id}`,
    "/transfers",
    "/buckets",
    `/buckets/${stage.profileId}`,
    "/alerts",
    "/alerts?show=rules",
    "/alerts?show=channels",
    "/alerts?show=history",
    "/events",
    "/settings",
    "/settings?show=tokens",
    "/settings?show=people",
    "/settings?show=audit",
  ];
  for (const { theme, width } of FORMS) {
    await page.emulateMedia({ colorScheme: theme });
    await page.setViewportSize({ width, height: 900 });
    for (const screen of screens) {
      await page.goto(stage.hub.url + screen);
      await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
      await expect(page).toHaveTitle(/Tidemark/);
      await expect(page.getByText(/^live/).first()).toBeAttached();
      expect(await overflow(page), `${screen} at ${width}`).toBe(0);
      expect(await shifted(page), `${screen} at ${width} jumps`).toBeLessThan(0.05);
      expect(await seriousFaults(page), `${screen} ${theme}`).toEqual([]);
    }
  }
});
