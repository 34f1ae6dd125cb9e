import { join } from "node:path";
import { defineConfig } from "@playwright/test";
import { findStoryBrowser } from "../gate/install-chromium.ts";
import { BUILT_WORKER } from "../stage/start-worker.ts";

/** Stories that take longest begin first, so that none of them is left for the end on one core. */
const LONG = ["**/04-*", "**/22-*", "**/12-*", "**/11-*", "**/13-*", "**/14-*"];
const ci = process.env.CI !== undefined;
// Read by this process and, as its children, by those that run stories: see e2e/stage/prepare-hub.ts.
process.env["GATE_HUB"] ??= join(import.meta.dirname, "../../.tools/hub/main.js");
process.env["GATE_WORKER"] ??= join(import.meta.dirname, "../..", BUILT_WORKER);

/**
 * Numbered stories, three at a time beside the process tests: more than half of a story is waiting. Where nobody is there to tell it again (CI) a story that
 * failed is told once more, and the gate names each that needed it, with the reason: those are mended, not lived with.
 */
export default defineConfig({
  testDir: ".",
  globalSetup: "../stage/prepare-hub.ts",
  // Each story has a stage of its own, so those of one file need not wait for each other.
  fullyParallel: true,
  projects: [
    { name: "long", testMatch: LONG },
    { name: "others", testIgnore: LONG },
  ],
  outputDir: "../../test-results",
  workers: 3,
  retries: ci ? 1 : 0,
  forbidOnly: ci,
  timeout: 900_000,
  // Minutes in CI, where a busy machine is late; a person who works on a story hears sooner.
  expect: { timeout: ci ? 300_000 : 60_000 },
  reporter: process.env.PLAYWRIGHT_JSON_OUTPUT_NAME === undefined ? [["list"]] : [["list"], ["json"]],
  use: {
    viewport: { width: 1440, height: 900 },
    reducedMotion: "reduce",
    actionTimeout: ci ? 180_000 : 60_000,
    screenshot: "only-on-failure",
    // A trace of every story would take a third of the time of all of them; the second try of one that failed has it.
    trace: "on-first-retry",
    launchOptions: {
      executablePath: findStoryBrowser() ?? "/usr/bin/chromium",
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
