import { relative } from "node:path";
import type { TestSpecification } from "vitest/node";
import { BaseSequencer } from "vitest/node";
import { ROOT } from "./run-step.ts";
import { readTimes } from "./times.ts";

/** Slowest files, for the first run on a machine without recorded times. */
const LONG = [
  "e2e/process/recorded-layouts.test.ts",
  "e2e/process/homes.test.ts",
  "e2e/process/foreign-folders.test.ts",
  "e2e/process/commands.test.ts",
  "e2e/process/providers.test.ts",
  "server/main.test.ts",
  "e2e/process/keys.test.ts",
  "e2e/process/bench-engines.test.ts",
  "e2e/process/hub-backup.test.ts",
  "e2e/process/nothing-left.test.ts",
  "e2e/process/alert-once.test.ts",
  "e2e/process/same-place.test.ts",
  "e2e/process/takeover.test.ts",
  "e2e/process/run-resume.test.ts",
  "e2e/process/long-lists.test.ts",
  "e2e/process/probe.test.ts",
  "e2e/process/sealed-homes.test.ts",
];

/** Runs the files first that took longest in the last run, so that no slow file runs alone at the end. */
export default class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const { files: seconds } = readTimes();
    const rankOf = (file: string): number => {
      const known = seconds[file];
      if (known !== undefined) return known;
      const place = LONG.indexOf(file);
      return place < 0 ? 0 : 1000 - place;
    };
    const sorted = await super.sort(files);
    return sorted.toSorted((a, b) => rankOf(relative(ROOT, b.moduleId)) - rankOf(relative(ROOT, a.moduleId)));
  }
}
