import type { Page } from "@playwright/test";
import { runName } from "#protocol/base/names.ts";
import { enrolRogue } from "../stage/rogue-node.ts";
import { tellBenchmark } from "../stage/tell-benchmark.ts";
import { waitComplete } from "../stage/wait-complete.ts";
import { writeCheckpoint } from "../stage/write-checkpoint.ts";
import { expect, overflow, seriousFaults, openSignedIn, test } from "./story.ts";
import { screensOf } from "./screens.ts";

/** Each is opened in the first theme; the other one changes colours and nothing else. */
const FORMS = [
  { width: 1440, themes: ["dark", "light"] },
  { width: 390, themes: ["light", "dark"] },
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

for (const { width, themes } of FORMS) {
  test(`every screen, light and dark, at ${width}: no overflow, no serious accessibility fault`, async ({
    page,
    stage,
  }) => {
    const run = runName.parse("llama-8b");
    await stage.startNode({ name: "gpu-1", run });
    writeCheckpoint({
      folder: stage.folderOf("gpu-1"),
      step: 500,
      modelBytes: 2 * 1024 ** 2,
      optimizerBytes: 0,
      loss: 1.5,
    });
    const checkpoint = await waitComplete(stage, run);
    const measured = await enrolRogue(stage, { name: "gpu-2" });
    const benchmark = await tellBenchmark(stage, measured, { bytesPerSecond: 2_500_000, rttMs: 190 });
    const before = await tellBenchmark(stage, measured, { bytesPerSecond: 2_000_000, rttMs: 190 });
    await openSignedIn(page, stage);
    const screens = [
      ...screensOf(checkpoint),
      `/buckets/${stage.profileId}`,
      "/alerts?show=rules",
      "/alerts?show=channels",
      "/alerts?show=history",
      "/advice?show=thresholds",
      `/benchmarks/${benchmark}`,
      `/benchmarks/${benchmark}?with=${before}`,
      "/settings?show=tokens",
      "/settings?show=hub",
      "/groups",
    ];
    await page.setViewportSize({ width, height: 900 });
    for (const screen of screens) {
      await page.emulateMedia({ colorScheme: themes[0] });
      await page.goto(stage.hub.url + screen);
      await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
      await expect(page).toHaveTitle(/Tidemark/);
      await expect(page.getByText(/^live/).first()).toBeAttached();
      expect(await overflow(page), `${screen} at ${width}`).toBe(0);
      expect(await shifted(page), `${screen} at ${width} jumps`).toBeLessThan(0.05);
      expect(await seriousFaults(page), `${screen} ${themes[0]}`).toEqual([]);
      await page.emulateMedia({ colorScheme: themes[1] });
      expect(await seriousFaults(page, "colours"), `${screen} ${themes[1]}`).toEqual([]);
    }
  });
}
