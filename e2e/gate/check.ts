import type { Counts } from "./count.ts";
import { showHouse } from "./house.ts";
import { runStep, type Step, tell } from "./run-step.ts";
import { showSample } from "./sample.ts";
import { vitestStep } from "./vitest-step.ts";

/**
 * `npm run check`: format, lint with types and the import law, types, dead code, unit tests. `--house` prints structural
 * numbers instead (`house.ts`), `--sample` a sample of comments (`sample.ts`).
 */

const { read, ...unit } = vitestStep("unit");

const CHECKS: readonly (readonly Step[])[] = [
  [
    { title: "format", command: ["oxfmt", "--check", "."] },
    { title: "dead code", command: ["knip", "--no-progress"] },
    { title: "types in Python", command: ["pyright", "-p", "clients/python"] },
  ],
  [
    { title: "lint with types", command: ["oxlint", "--type-aware", "--deny-warnings", "."] },
    { title: "types", command: ["tsc", "--noEmit", "-p", "."] },
  ],
  [{ title: "unit tests", ...unit }],
];

/** Runs all checks, at most three in parallel, and prints each result. Counts unit tests one by one, other checks as one each. */
export async function check(): Promise<Counts> {
  const total: Counts = { passed: 0, failed: 0, skipped: 0 };
  for (const group of CHECKS) {
    for (const result of await Promise.all(group.map(runStep))) {
      const counted = result.title === "unit tests" ? read() : null;
      tell(result, counted ?? undefined);
      total.passed += counted?.passed ?? (result.ok ? 1 : 0);
      total.failed += counted?.failed ?? (result.ok ? 0 : 1);
      total.skipped += counted?.skipped ?? 0;
      if (!result.ok && counted !== null && counted.failed === 0) total.failed += 1;
    }
  }
  return total;
}

if (import.meta.main && process.argv.includes("--house")) process.exitCode = showHouse(process.argv) ? 0 : 1;
else if (import.meta.main && process.argv.includes("--sample")) process.exitCode = showSample(process.argv) ? 0 : 1;
else if (import.meta.main) {
  const total = await check();
  console.log(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
  process.exitCode = total.failed === 0 ? 0 : 1;
}
