import { defineConfig } from "@playwright/test";
import { findChromium } from "../gate/install-chromium.ts";

const ci = process.env.CI !== undefined;

/**
 * Numbered stories, three at a time: half of a story is waiting. Where nobody is there to tell it again (CI) a story that
 * failed is told once more, and the gate names each that needed it, with the reason: those are mended, not lived with.
 */
export default defineConfig({
  testDir: ".",
  outputDir: "../../test-results",
  workers: 3,
  retries: ci ? 1 : 0,
  forbidOnly: ci,
  timeout: 90_000,
  expect: { timeout: 20_000 },
  reporter: process.env.PLAYWRIGHT_JSON_OUTPUT_NAME === undefined ? [["list"]] : [["list"], ["json"]],
  use: {
    viewport: { width: 1440, height: 900 },
    reducedMotion: "reduce",
    actionTimeout: 15_000,
    screenshot: "only-on-failure",
    trace: "retain-on-failure",
    launchOptions: {
      executablePath: findChromium() ?? "/usr/bin/chromium",
      args: [
        "--no-sandbox",
        "--disable-gpu",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
      ],
    },
  },
});
