import { appendFileSync } from "node:fs";
import type { Reporter, TestCase } from "vitest/node";

/**
 * A Vitest reporter for tests that passed only after a retry, which the JSON report does not show. It appends one JSON string
 * per line to the file in UNSTEADY_FILE.
 */
export default class UnsteadyReporter implements Reporter {
  onTestCaseResult(test: TestCase): void {
    const file = process.env["UNSTEADY_FILE"];
    // Vitest also calls tests flaky that are expected to fail and do.
    if (file === undefined || test.diagnostic()?.flaky !== true || test.options.fails === true) return;
    const [first] = test.result().errors ?? [];
    const words = `${test.module.relativeModuleId} > ${test.fullName}: ${first?.message ?? ""}`;
    appendFileSync(file, `${JSON.stringify(words.split("\n").slice(0, 8).join("\n    "))}\n`);
  }
}
