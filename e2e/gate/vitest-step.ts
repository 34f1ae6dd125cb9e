import { tmpdir } from "node:os";
import { join } from "node:path";
import { cpuOf, type Report, readVitest, unsteadyOf } from "./count.ts";
import { inCi, type Step } from "./run-step.ts";
import { absolutePaths } from "./test-files.ts";

/**
 * Returns the step that runs one Vitest project, or only these files. In CI a failed test is retried once and reported.
 * Conformance tests are not retried, because a store's answers are deterministic.
 */
export function vitestStep(
  project: string,
  given: { env?: Record<string, string>; files?: readonly string[] } = {},
): Omit<Step, "title"> & { read(): Report | null } {
  const report = join(tmpdir(), `tidemark-${project}-${process.pid}.json`);
  return {
    command: [
      "vitest",
      "run",
      "--project",
      project,
      "--reporter=default",
      "--reporter=json",
      `--outputFile.json=${report}`,
      "--reporter=./e2e/gate/report-unsteady.ts",
      ...(inCi && project !== "conformance" ? ["--retry=1"] : []),
      ...absolutePaths(given.files ?? []),
    ],
    env: { UNSTEADY_FILE: unsteadyOf(report), CPU_FILE: cpuOf(report), ...given.env },
    read: () => readVitest(report),
  };
}
