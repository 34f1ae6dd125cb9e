import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Report, readPlaywright } from "./count.ts";
import type { Step } from "./run-step.ts";
import { absolutePaths } from "./test-files.ts";

/** Returns the step that runs the browser stories, or only these files. */
export function playwrightStep(files: readonly string[] = []): Omit<Step, "title"> & { read(): Report | null } {
  const report = join(tmpdir(), `tidemark-browser-${process.pid}.json`);
  return {
    command: ["playwright", "test", "--config", "e2e/browser/playwright.config.ts", ...absolutePaths(files)],
    env: { PLAYWRIGHT_JSON_OUTPUT_NAME: report },
    read: () => readPlaywright(report),
  };
}
