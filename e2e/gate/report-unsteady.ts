import { appendFileSync } from "node:fs";
import type { Reporter, TestCase } from "vitest/node";

/**
 * A reporter for the gate: vitest's own JSON does not say which tests passed only when they were tried again. One JSON string a
 * line, to the file that UNSTEADY_FILE names.
 */
export default class UnsteadyReporter implements Reporter {
  onTestCaseResult(test: TestCase): void {
    const file = process.env["UNSTEADY_FILE"];
    // One that is to fail does so each time, which vitest calls flaky as well.
    if (file === undefined || test.diagnostic()?.flaky !== true || test.options.fails === true) return;
    const [first] = test.result().errors ?? [];
    const words = `${test.module.relativeModuleId} > ${test.fullName}: ${first?.message ?? ""}`;
    appendFileSync(file, `${JSON.stringify(words.split("\n").slice(0, 8).join("\n    "))}\n`);
  }
}
